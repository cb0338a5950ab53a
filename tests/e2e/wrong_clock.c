// Preloaded into a program, this makes its clocks wrong: by as many seconds as the file named by WRONG_CLOCK
// says at that moment, first of the time of day, then of the clock that only counts on (0 if it isn't there).
// Waits of condition variables for that clock end as it says.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long wrong_by(clockid_t clock) {
  const char* const file = getenv("WRONG_CLOCK");
  char digits[64] = "";
  const int open_file = file == NULL ? -1 : open(file, O_RDONLY | O_CLOEXEC);
  if (open_file < 0) return 0;
  const ssize_t size = read(open_file, digits, sizeof(digits) - 1);
  close(open_file);
  if (size <= 0) return 0;
  char* rest = NULL;
  const long of_day = strtol(digits, &rest, 10);
  return clock == CLOCK_MONOTONIC ? strtol(rest, NULL, 10) : of_day;
}

static int right_clock(clockid_t clock, struct timespec* out) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  return real(clock, out);
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  const int result = right_clock(clock, out);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC))
    out->tv_sec += wrong_by(clock);
  return result;
}

// In steps, so that a clock that is set meanwhile ends it.
int pthread_cond_clockwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex,
                           clockid_t clock, const struct timespec* restrict until) {
  static int (*real)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  if (real == NULL)
    real = (int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*))dlsym(
        RTLD_NEXT, "pthread_cond_clockwait");
  if (clock != CLOCK_MONOTONIC) return real(condition, mutex, clock, until);
  struct timespec end = *until, step;
  end.tv_sec -= wrong_by(clock);
  right_clock(clock, &step);
  step.tv_nsec += 100 * 1000 * 1000;
  if (step.tv_nsec >= 1000 * 1000 * 1000) {
    step.tv_nsec -= 1000 * 1000 * 1000;
    ++step.tv_sec;
  }
  const int is_last =
      end.tv_sec < step.tv_sec || (end.tv_sec == step.tv_sec && end.tv_nsec <= step.tv_nsec);
  const int result = real(condition, mutex, clock, is_last ? &end : &step);
  // Any wait may end without a reason: who waits looks at the clock and waits again.
  return result == ETIMEDOUT && !is_last ? 0 : result;
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
