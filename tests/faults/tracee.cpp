#include "tests/faults/tracee.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

namespace kith {
namespace {

namespace fs = std::filesystem;

/// What the arguments of a call say.
enum class Kind { kFile, kPath, kPathAt, kRename, kRenameAt };

struct Watched {
  const char* name;
  Kind kind;
  bool changes;
  bool may_be_short = false;
};

const std::map<long, Watched>& watched_calls() {
  static const std::map<long, Watched> calls = {
      {SYS_open, {"open", Kind::kPath, false}},
      {SYS_creat, {"open", Kind::kPath, true}},
      {SYS_openat, {"open", Kind::kPathAt, false}},
      {SYS_read, {"read", Kind::kFile, false, true}},
      {SYS_pread64, {"read", Kind::kFile, false, true}},
      {SYS_readv, {"read", Kind::kFile, false}},
      {SYS_write, {"write", Kind::kFile, true, true}},
      {SYS_pwrite64, {"write", Kind::kFile, true, true}},
      {SYS_writev, {"write", Kind::kFile, true}},
      {SYS_sendfile, {"write", Kind::kFile, true}},
      {SYS_copy_file_range, {"write", Kind::kFile, true}},
      {SYS_ftruncate, {"truncate", Kind::kFile, true}},
      {SYS_fsync, {"fsync", Kind::kFile, true}},
      {SYS_fdatasync, {"fsync", Kind::kFile, true}},
      {SYS_close, {"close", Kind::kFile, false}},
      {SYS_mmap, {"mmap", Kind::kFile, false}},
      {SYS_getdents64, {"list", Kind::kFile, false}},
      {SYS_mkdir, {"mkdir", Kind::kPath, true}},
      {SYS_mkdirat, {"mkdir", Kind::kPathAt, true}},
      {SYS_unlink, {"unlink", Kind::kPath, true}},
      {SYS_rmdir, {"unlink", Kind::kPath, true}},
      {SYS_unlinkat, {"unlink", Kind::kPathAt, true}},
      {SYS_link, {"link", Kind::kRename, true}},
      {SYS_linkat, {"link", Kind::kRenameAt, true}},
      {SYS_rename, {"rename", Kind::kRename, true}},
      {SYS_renameat, {"rename", Kind::kRenameAt, true}},
      {SYS_renameat2, {"rename", Kind::kRenameAt, true}}};
  return calls;
}

/// Where the kernel finds the descriptor of a call about a file.
uint64_t descriptor_of(const user_regs_struct& registers) {
  if (registers.orig_rax == SYS_mmap) return registers.r8;
  if (registers.orig_rax == SYS_copy_file_range) return registers.rdx;
  return registers.rdi;
}

std::string link_target(const std::string& link) {
  std::error_code error;
  return fs::read_symlink(link, error).string();
}

}  // namespace

Tracee::Tracee(pid_t id) : id_(id) {
  ::ptrace(PTRACE_GETREGS, id, nullptr, &registers_);
}

Call Tracee::call() {
  const auto found =
      watched_calls().find(static_cast<long>(registers_.orig_rax));
  if (found == watched_calls().end()) return {};
  const Watched& watched = found->second;
  auto& r = registers_;
  Call call{watched.name, "", "", watched.changes, nullptr};
  constexpr auto kHere = static_cast<uint64_t>(AT_FDCWD);
  switch (watched.kind) {
    case Kind::kFile:
      call.path = path_of_file(descriptor_of(r));
      if (watched.may_be_short) call.size = reinterpret_cast<uint64_t*>(&r.rdx);
      break;
    case Kind::kPath:
      call.path = path_at(kHere, r.rdi);
      break;
    case Kind::kPathAt:
      call.path = path_at(r.rdi, r.rsi);
      break;
    case Kind::kRename:
      call.path = path_at(kHere, r.rsi);
      call.other = path_at(kHere, r.rdi);
      break;
    case Kind::kRenameAt:
      call.path = path_at(r.rdx, r.r10);
      call.other = path_at(r.rdi, r.rsi);
      break;
  }
  const uint64_t flags = r.orig_rax == SYS_open ? r.rsi : r.rdx;
  if (call.name == "open" && (flags & O_CREAT) != 0) call.changes = true;
  return call;
}

void Tracee::fail(int code) {
  registers_.orig_rax = static_cast<unsigned long long>(-1);
  set_result(code);
}

void Tracee::set_result(int code) {
  registers_.rax = static_cast<unsigned long long>(-code);
  store();
}

void Tracee::store() { ::ptrace(PTRACE_SETREGS, id_, nullptr, &registers_); }

std::string Tracee::text_at(uint64_t address) const {
  std::string text;
  char bytes[256];
  while (text.size() < 4096) {
    // Not across a page, for the next one may not be there.
    const size_t size = sizeof bytes - address % sizeof bytes;
    iovec here = {bytes, size};
    iovec there = {reinterpret_cast<void*>(address), size};
    const ssize_t got = ::process_vm_readv(id_, &here, 1, &there, 1, 0);
    if (got <= 0) break;
    const std::string part(bytes, static_cast<size_t>(got));
    const size_t end = part.find('\0');
    text += part.substr(0, end);
    if (end != std::string::npos) break;
    address += static_cast<uint64_t>(got);
  }
  return text;
}

std::string Tracee::path_of_file(uint64_t descriptor) const {
  return link_target("/proc/" + std::to_string(id_) + "/fd/" +
                     std::to_string(static_cast<int>(descriptor)));
}

std::string Tracee::path_at(uint64_t folder, uint64_t address) const {
  const fs::path path = text_at(address);
  if (path.is_absolute()) return path.lexically_normal().string();
  const std::string base =
      static_cast<int>(folder) == AT_FDCWD
          ? link_target("/proc/" + std::to_string(id_) + "/cwd")
          : path_of_file(folder);
  return (base / path).lexically_normal().string();
}

bool stop_at_watched_calls() {
  std::vector<sock_filter> filter;
  filter.push_back(
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const auto& [number, watched] : watched_calls()) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                              static_cast<unsigned>(number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()),
                              filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace kith
