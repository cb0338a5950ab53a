#!/bin/sh
# What manifests rely on of the official image's entry point: a new database is made with POSTGRES_USER,
# POSTGRES_PASSWORD (or a file named by each with _FILE), POSTGRES_DB, POSTGRES_INITDB_ARGS, and the scripts in
# /docker-entrypoint-initdb.d.
set -eu
: "${PGDATA:=/var/lib/postgresql/data}"
export PGDATA

# Command lines that begin with a flag are the server's.
case ${1:-} in -*) set -- postgres "$@" ;; esac
[ "$1" = postgres ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /run/postgresql
  chown -R postgres:postgres "$PGDATA" /run/postgresql
  chmod 700 "$PGDATA"
  exec perl -e '$( = $) = "999 999"; $< = $> = 999; exec @ARGV or die' -- "$0" "$@"
fi

# setting NAME: the variable, or what the file says that NAME_FILE names.
setting() {
  eval "file=\${$1_FILE:-} value=\${$1:-}"
  # shellcheck disable=SC2154 # eval sets both
  if [ -n "$file" ]; then cat "$file"; else printf '%s' "$value"; fi
}

run_scripts() {
  for script in /docker-entrypoint-initdb.d/*; do
    [ -e "$script" ] || continue
    echo "running $script"
    case $script in
      *.sh) sh "$script" ;;
      *.sql) psql -v ON_ERROR_STOP=1 --no-psqlrc -U "$user" -d "$database" -f "$script" ;;
      *.sql.gz) gunzip -c "$script" | psql -v ON_ERROR_STOP=1 --no-psqlrc -U "$user" -d "$database" ;;
      *) echo "ignoring $script" ;;
    esac
  done
}

# The server takes no other mode, and an fsGroup may have changed it.
mkdir -p "$PGDATA"
chmod 700 "$PGDATA" 2>/dev/null || :
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  password=$(setting POSTGRES_PASSWORD)
  user=$(setting POSTGRES_USER); user=${user:-postgres}
  database=$(setting POSTGRES_DB); database=${database:-$user}
  method=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}
  if [ -z "$password" ] && [ "$method" != trust ]; then
    echo "Error: Database is uninitialized and superuser password is not specified." >&2
    echo "       Set POSTGRES_PASSWORD to a non-empty value for the superuser." >&2
    exit 1
  fi
  file=$(mktemp)
  printf '%s\n' "$password" >"$file"
  # shellcheck disable=SC2086 # POSTGRES_INITDB_ARGS is a list of words
  if [ -n "$password" ]; then
    initdb -U "$user" --pwfile="$file" --auth-local=trust --auth-host="$method" -E UTF8 --locale=C.UTF-8 ${POSTGRES_INITDB_ARGS:-}
  else
    initdb -U "$user" --auth-local=trust --auth-host="$method" -E UTF8 --locale=C.UTF-8 ${POSTGRES_INITDB_ARGS:-}
  fi
  rm -f "$file"
  printf 'host all all all %s\n' "$method" >>"$PGDATA/pg_hba.conf"
  printf "listen_addresses = '*'\njit = off\n" >>"$PGDATA/postgresql.conf"
  if [ "$database" != postgres ] || [ -d /docker-entrypoint-initdb.d ]; then
    pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
    [ "$database" = postgres ] || psql -v ON_ERROR_STOP=1 --no-psqlrc -U "$user" -d postgres -v db="$database" <<'SQL'
CREATE DATABASE :"db";
SQL
    run_scripts
    pg_ctl -D "$PGDATA" -m fast -w stop
  fi
fi
exec "$@"
