module mistletoe.dev/sdk/go

go 1.24
