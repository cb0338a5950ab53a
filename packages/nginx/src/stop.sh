# New connections stop coming while the endpoints change; those that are open are served to their end. The image's own stop
# signal could mean to drop them.
sleep 5
kill -QUIT 1
while kill -0 1; do sleep 1; done
