module mistletoe.dev/bench/proxy

go 1.26.0
