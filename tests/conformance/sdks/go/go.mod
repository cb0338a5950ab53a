module table

go 1.24

require mistletoe.dev/sdk/go v0.1.0

replace mistletoe.dev/sdk/go => ../../../../sdk/go
