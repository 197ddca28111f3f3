// The program `kith` itself: says how threads wait, then loads the rest.
//
// OpenMP and OpenBLAS decide how their threads wait when they are loaded,
// before main() of a program that is linked with them. Spinning, as they do by
// themselves, makes two threads slower than one wherever other programs want
// the cores too. So the program lets them sleep, unless the environment says
// otherwise. Linked with neither, it can say so in time and needs no second
// start. The libraries of kith leave the environment of their users alone.

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace {

void let_threads_sleep() {
  // GCC's own variable says how long threads spin, whatever the other says.
  if (std::getenv("GOMP_SPINCOUNT") == nullptr) {
    ::setenv("OMP_WAIT_POLICY", "passive", 0);
  }
  ::setenv("OPENBLAS_THREAD_TIMEOUT", "4", 0);  // for 2^4 cycles; usual: 2^26
}

}  // namespace

int main(int argc, char** argv) {
  let_threads_sleep();
  // As if it were linked: all see what it brings, as plug-ins must, and
  // LibTorch looks up its functions when they are called, which takes less
  // time.
  void* program = ::dlopen("libkith_program.so", RTLD_LAZY | RTLD_GLOBAL);
  void* entry = program == nullptr ? nullptr : ::dlsym(program, "kith_main");
  if (entry == nullptr) {
    std::fprintf(stderr, "kith: cannot load the program: %s\n", ::dlerror());
    return 1;
  }
  return reinterpret_cast<int (*)(int, char**)>(entry)(argc, argv);
}
