#ifndef MIST_RAMFS_H
#define MIST_RAMFS_H
// The guest's files: a tree in its own memory at "/", which C and Python see through the ordinary calls. It
// holds a copy of the package at /package, so that a script may write there without anybody else seeing it,
// and a package that is prepared into a module has its files with it. One thread.

#include <stdbool.h>

/// Makes /package and /tmp, and copies what the host shows at /package, once: a later call does nothing where
/// there are files already. False: the host's files can't be read, or memory is used up.
bool ramfs_load(void);

#endif
