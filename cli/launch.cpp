// The program `kith` itself: says how threads wait, then loads the rest.
//
// OpenMP and OpenBLAS decide how their threads wait when they are loaded,
// before main() of a program that is linked with them. Spinning, as they do by
// themselves, makes two threads many times slower than one wherever other
// programs want the cores too. So the program lets them sleep, unless the
// environment says otherwise. Linked with neither, it can say so in time and
// needs no second start. The libraries of kith leave the environment of their
// users alone.

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace {

void let_threads_sleep() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr &&
      std::getenv("GOMP_SPINCOUNT") == nullptr) {
    ::setenv("OMP_WAIT_POLICY", "passive", 0);
    // GCC's threads look a thousand times first: on an idle machine the next
    // work mostly comes before they would be asleep.
    ::setenv("GOMP_SPINCOUNT", "1000", 0);
  }
  ::setenv("OPENBLAS_THREAD_TIMEOUT", "12", 0);  // 2^12 cycles; usual: 2^26
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
