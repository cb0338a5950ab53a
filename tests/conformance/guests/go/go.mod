module mistletoe.dev/conformance/namespace

go 1.26
