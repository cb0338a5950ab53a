module my-package

go 1.24
