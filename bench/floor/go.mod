module mistletoe.dev/bench/floor

go 1.26
