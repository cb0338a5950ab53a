# Makes the data directory if there is none, then databases and users those of the inputs, with a server that only this
# script can reach. Killed at any point, the next start does what is missing.
set -eu
trap 'exit 1' INT TERM
. /etc/mistletoe/config/programs.sh

if [ ! -d "$data/db" ]; then
  echo "making the data directory"
  rm -rf "$data/new"
  "$bin/initdb" --pgdata="$data/new" --username=postgres --encoding=UTF8 --locale="$LOCALE" --data-checksums \
    --no-instructions --auth-local=peer --auth-host=scram-sha-256
  mv "$data/new" "$data/db"
fi

version=$("$bin/postgres" --version)
version=${version##*PostgreSQL) }
version=${version%%[!0-9]*}
found=$(cat "$data/db/PG_VERSION")
if [ "$version" != "$found" ]; then
  echo "the data directory is of PostgreSQL $found and the image has $version: set image back to $found, then dump the data into an install of $version" >&2
  exit 1
fi

# A volume's group may have been given more rights than the server accepts.
chmod 0700 "$data/db"
mkdir -p "$run/setup"
chmod 0700 "$run/setup"
"$bin/pg_ctl" start --silent --pgdata="$data/db" --wait --timeout=604800 --options="-c config_file=/etc/mistletoe/config/postgresql.conf \
  -c listen_addresses= -c unix_socket_directories=$run/setup -c log_statement=none"

ask() {
  "$bin/psql" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --host="$run/setup" --username=postgres "$@" < /dev/null
}
export PGDATABASE=postgres
ask --file=/etc/mistletoe/users/users.sql
ask --tuples-only --no-align --command='SELECT datname FROM pg_database WHERE datallowconn' > "$run/setup/databases"
while IFS= read -r database; do
  PGDATABASE=$database ask --file=/etc/mistletoe/config/database.sql
done < "$run/setup/databases"
ask --file=/etc/mistletoe/config/drop.sql

"$bin/pg_ctl" stop --silent --pgdata="$data/db" --mode=fast --wait --timeout=604800
rm -rf "$run/setup"
