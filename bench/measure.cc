// measure FILE COMMAND ARG…: runs a command and writes what it cost into FILE, as JSON: seconds of wall and
// CPU, and the peak of its resident memory in kB, all by the operating system's accounting (wait4). Its exit
// code is the command's.
//
// A program of its own, because Linux counts the memory of whoever started a process as that process's peak
// until then: a Python harness would show every small program as large as itself.
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstring>

extern char** environ;

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: measure FILE COMMAND ARG…\n", stderr);
    return 2;
  }
  const auto began = std::chrono::steady_clock::now();
  pid_t child = 0;
  if (const int failure = posix_spawnp(&child, argv[2], nullptr, nullptr, argv + 2, environ); failure != 0) {
    std::fprintf(stderr, "measure: %s: %s\n", argv[2], std::strerror(failure));
    return 127;
  }
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0) {
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
  std::FILE* file = std::fopen(argv[1], "w");
  if (file == nullptr) {
    std::perror(argv[1]);
    return 127;
  }
  std::fprintf(file, "{\"seconds\": %.6f, \"cpu\": %.6f, \"kb\": %ld}\n", wall.count(),
               seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
  std::fclose(file);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
