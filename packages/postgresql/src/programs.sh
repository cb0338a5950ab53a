# The folder of the server's programs: on the PATH of the official images, beside their version in Debian's package.
data=/var/lib/postgresql/data
run=/run/postgresql
if found=$(command -v initdb); then
  bin=$(dirname "$(readlink -f "$found")")
else
  for bin in /usr/lib/postgresql/*/bin; do :; done
fi
if [ ! -x "$bin/initdb" ]; then
  echo "the image has no PostgreSQL server: initdb is neither on the PATH nor in /usr/lib/postgresql/*/bin" >&2
  exit 1
fi
