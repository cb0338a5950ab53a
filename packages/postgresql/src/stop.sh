# Ends sessions and writes everything down. The image's own stop signal could mean to wait until the last client leaves.
set -eu
. /etc/mistletoe/config/programs.sh
exec "$bin/pg_ctl" stop --pgdata="$data/db" --mode=fast --wait --timeout=110
