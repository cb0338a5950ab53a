# For scripts that build for minutes; sourced. What is being done now stands on one line that moves, on a terminal, and on
# a line of its own every fifteen seconds elsewhere, so that nobody waits behind a silent pipe.
#
#   follow NAME LOG & ...; kill $!     until it is killed, or the shell that started it is gone

# newest_line LOG: what the command has said last, there or in a build's own log. Of another follow()'s line it is what that
# one saw: the log of a test's step may have such lines, also of this one.
newest_line() {
  local newest
  newest=$(ls build/*/build.log 2>/dev/null | grep -v '^build/test-logs/' | xargs -r ls -t "$1" 2>/dev/null | head -n 1)
  [[ -n $newest ]] || newest=$1
  [[ -e $newest ]] || return 0
  tail -c 400 "$newest" | tr '\r' '\n' | tr -cd '[:print:]\n' | sed -E 's/^ *([^:]*, [0-9]+ s: *)+//' | grep -v '^ *$' | tail -n 1 || true
}

follow() {
  local name=$1 log=$2 began=$SECONDS parent=$$ line columns
  if [[ -t 1 ]]; then
    columns=$(tput cols 2>/dev/null || echo 80)
    while sleep 1 && kill -0 "$parent" 2>/dev/null; do
      line=$(newest_line "$log")
      printf '\r\033[K%-34s    %5ds  %s' "$name" $((SECONDS - began)) "${line:0:$((columns - 48))}"
    done
  else
    while sleep 15 && kill -0 "$parent" 2>/dev/null; do
      line=$(newest_line "$log")
      printf '  … %s, %d s: %s\n' "$name" $((SECONDS - began)) "${line:0:140}"
    done
  fi
}
