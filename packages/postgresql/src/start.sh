set -eu
. /etc/mistletoe/config/programs.sh
exec "$bin/postgres" --config-file=/etc/mistletoe/config/postgresql.conf
