// The first process of each Pod: it holds the Pod's namespaces and collects ended processes.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void stop(int number) {
  (void)number;
  _exit(0);
}

static void collect(int number) {
  (void)number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  signal(SIGCHLD, collect);
  for (;;) pause();
}
