# Makes the data directory if there is none, and the system tables those of this server. Both end whole or not at all:
# killed at any point, the next start does what is missing.
set -eu
data=/var/lib/mysql

if [ ! -d "$data/db" ]; then
  echo "making the data directory"
  rm -rf "$data/new"
  mariadb-install-db --no-defaults --datadir="$data/new" --auth-root-authentication-method=normal --skip-test-db --skip-log-bin
  mv "$data/new" "$data/db"
  mariadbd --version > "$data/version"
fi

if [ "$(mariadbd --version)" != "$(cat "$data/version" 2> /dev/null)" ]; then
  echo "upgrading the system tables"
  socket=/run/mysqld/upgrade.sock
  mariadbd --no-defaults --datadir="$data/db" --socket="$socket" --pid-file=/run/mysqld/upgrade.pid --skip-networking --skip-grant-tables --skip-log-bin &
  server=$!
  until mariadb-admin --no-defaults --socket="$socket" --silent ping > /dev/null 2>&1; do
    kill -0 "$server"
    sleep 1
  done
  mariadb-upgrade --no-defaults --socket="$socket"
  kill "$server"
  wait "$server"
  mariadbd --version > "$data/version"
fi
