# ready: it takes connections. alive: it answers, if only to say that it is starting or stopping.
set -eu
. /etc/mistletoe/config/programs.sh
answer=0
"$bin/pg_isready" --quiet --host="$run" --username=postgres --dbname=postgres --timeout=4 || answer=$?
case "$1 $answer" in
  "ready 0" | "alive 0" | "alive 1") ;;
  *) exit 1 ;;
esac
