// Preloaded into a program, this makes the time of day wrong: by as many seconds as the file named by
// WRONG_CLOCK says at that moment. Clocks that only count on are left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long wrong_by(void) {
  const char* const file = getenv("WRONG_CLOCK");
  char digits[32] = "";
  const int open_file = file == NULL ? -1 : open(file, O_RDONLY | O_CLOEXEC);
  if (open_file < 0) return 0;
  const ssize_t size = read(open_file, digits, sizeof(digits) - 1);
  close(open_file);
  return size > 0 ? strtol(digits, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, out);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += wrong_by();
  return result;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
