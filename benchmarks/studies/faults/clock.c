/* A wall clock that another process can set: preloaded, it adds the nanoseconds that stand in a
   file, which may change at any time, to whatever tells the time of day. Clocks that count since
   the boot stay as they are. Where a program waits until some time of day, the kernel, whose clock
   was not set, is told that time by its own clock. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t none = 0;
static volatile int64_t *offset_ns = &none;

__attribute__((constructor)) static void find_offset(void) {
  const char *path = getenv("TORTURE_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *found = mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
  if (found != MAP_FAILED) offset_ns = found;
  close(file);
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

static void add(struct timespec *at, int64_t ns) {
  int64_t rest = at->tv_nsec + ns % 1000000000;
  at->tv_sec += ns / 1000000000 + (rest < 0 ? -1 : rest >= 1000000000);
  at->tv_nsec = (rest + 1000000000) % 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = next("clock_gettime");
  int code = real(clock, at);
  if (!code && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) add(at, *offset_ns);
  return code;
}

int gettimeofday(struct timeval *at, void *zone) {
  (void)zone;
  struct timespec now;
  int code = clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return code;
}

int timespec_get(struct timespec *at, int base) {
  return clock_gettime(CLOCK_REALTIME, at) ? 0 : base;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}

/* Of a time to wait until it is not always known by which clock it is; one since the boot is a small
   number. */
static const struct timespec *by_kernel(const struct timespec *until, struct timespec *copy) {
  if (!until || until->tv_sec < 300000000) return until;
  *copy = *until;
  add(copy, -*offset_ns);
  return copy;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  /* the older one of two has conditions of another layout */
  if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (!real) real = next("pthread_cond_timedwait");
  struct timespec copy;
  return real(condition, mutex, by_kernel(until, &copy));
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  if (!real) real = next("pthread_cond_clockwait");
  struct timespec copy;
  return real(condition, mutex, clock, by_kernel(until, &copy));
}

int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
  static int (*real)(sem_t *, const struct timespec *);
  if (!real) real = next("sem_timedwait");
  struct timespec copy;
  return real(semaphore, by_kernel(until, &copy));
}

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until) {
  static int (*real)(sem_t *, clockid_t, const struct timespec *);
  if (!real) real = next("sem_clockwait");
  struct timespec copy;
  return real(semaphore, clock, by_kernel(until, &copy));
}

long syscall(long number, ...) {
  static long (*real)(long, ...);
  if (!real) real = next("syscall");
  long words[6];
  va_list given;
  va_start(given, number);
  /* whether or not there are six: they lie in registers */
  for (int i = 0; i < 6; i++) words[i] = va_arg(given, long);
  va_end(given);
  struct timespec copy;
  if (number == SYS_futex && (words[1] & FUTEX_CLOCK_REALTIME))
    words[3] = (long)by_kernel((const struct timespec *)words[3], &copy);
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
