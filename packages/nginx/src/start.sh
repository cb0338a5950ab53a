# Writes down what only the Pod knows, then becomes nginx. Arguments: what is listened at, NAME:PORT[:PARAMETERS].
set -eu

servers=
while read -r key value rest; do
  if [ "$key" = nameserver ]; then
    case $value in
      *:*) servers="$servers [$value]" ;;
      *) servers="$servers $value" ;;
    esac
  fi
done < /etc/resolv.conf
echo "resolver${servers:- 127.0.0.1} valid=10s;" > /tmp/resolver.conf

for listen in "$@"; do
  name=${listen%%:*}
  rest=${listen#*:}
  port=${rest%%:*}
  parameters=
  if [ "$rest" != "$port" ]; then parameters=" ${rest#*:}"; fi
  if [ -e /proc/net/if_inet6 ]; then
    echo "listen [::]:$port$parameters;"
  fi > "/tmp/listen-$name.conf"
done

exec nginx -e stderr -c /etc/mistletoe/config/nginx.conf -g 'daemon off;'
