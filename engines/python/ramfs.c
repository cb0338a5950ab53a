// WASI's calls on files, answered from memory instead of by the host.
//
// wasi-libc makes each call through a function __wasi_<call>. The linker's --wrap sends those below to __wrap___wasi_<call>
// and leaves the host's as __real___wasi_<call>. Descriptors 0 to 2 stay the host's; 3 is the directory "/", the only
// preopened one, and those above are open files and directories of the tree.

#include "ramfs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>

enum { kRootFd = 3, kMostOpen = 1024, kMostDepth = 64, kLongestName = 255 };

typedef struct Node Node;
struct Node {
  char *name;
  Node *parent;  // of the root, itself
  bool is_directory;
  bool is_unlinked;
  uint32_t open;  // descriptors
  uint64_t inode;
  Node **children;  // by name
  size_t count;
  size_t room;
  uint8_t *data;
  size_t size;
  size_t capacity;
};

typedef struct {
  Node *node;  // null: closed
  uint64_t offset;
  bool reads;
  bool writes;
  bool appends;
} Open;

static Node root = {.name = "", .parent = &root, .is_directory = true, .inode = 1};
static Open opened[kMostOpen] = {{.node = &root, .reads = true}};
static uint64_t last_inode = 1;

#define REAL(call) __real___wasi_##call
#define WRAP(call) __wrap___wasi_##call

__wasi_errno_t REAL(fd_prestat_get)(__wasi_fd_t, __wasi_prestat_t *);
__wasi_errno_t REAL(fd_prestat_dir_name)(__wasi_fd_t, uint8_t *, __wasi_size_t);
__wasi_errno_t REAL(fd_readdir)(__wasi_fd_t, uint8_t *, __wasi_size_t, __wasi_dircookie_t, __wasi_size_t *);
__wasi_errno_t REAL(fd_read)(__wasi_fd_t, const __wasi_iovec_t *, size_t, __wasi_size_t *);
__wasi_errno_t REAL(fd_write)(__wasi_fd_t, const __wasi_ciovec_t *, size_t, __wasi_size_t *);
__wasi_errno_t REAL(fd_close)(__wasi_fd_t);
__wasi_errno_t REAL(fd_seek)(__wasi_fd_t, __wasi_filedelta_t, __wasi_whence_t, __wasi_filesize_t *);
__wasi_errno_t REAL(fd_tell)(__wasi_fd_t, __wasi_filesize_t *);
__wasi_errno_t REAL(fd_fdstat_get)(__wasi_fd_t, __wasi_fdstat_t *);
__wasi_errno_t REAL(fd_fdstat_set_flags)(__wasi_fd_t, __wasi_fdflags_t);
__wasi_errno_t REAL(fd_filestat_get)(__wasi_fd_t, __wasi_filestat_t *);
__wasi_errno_t REAL(path_open)(__wasi_fd_t, __wasi_lookupflags_t, const char *, __wasi_oflags_t, __wasi_rights_t,
                               __wasi_rights_t, __wasi_fdflags_t, __wasi_fd_t *);

// The tree.

static size_t place_of(const Node *directory, const char *name, size_t length, bool *found) {
  size_t low = 0, high = directory->count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const char *other = directory->children[middle]->name;
    int order = strncmp(other, name, length);
    if (order == 0 && other[length] != '\0') order = 1;
    if (order == 0) {
      *found = true;
      return middle;
    }
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  *found = false;
  return low;
}

static Node *child(const Node *directory, const char *name, size_t length) {
  bool found;
  const size_t place = place_of(directory, name, length, &found);
  return found ? directory->children[place] : NULL;
}

static bool attach(Node *directory, Node *node) {
  bool found;
  const size_t place = place_of(directory, node->name, strlen(node->name), &found);
  if (directory->count == directory->room) {
    const size_t room = directory->room ? directory->room * 2 : 8;
    Node **children = realloc(directory->children, room * sizeof *children);
    if (!children) return false;
    directory->children = children;
    directory->room = room;
  }
  memmove(directory->children + place + 1, directory->children + place,
          (directory->count - place) * sizeof *directory->children);
  directory->children[place] = node;
  directory->count += 1;
  node->parent = directory;
  return true;
}

static void detach(Node *node) {
  Node *directory = node->parent;
  bool found;
  const size_t place = place_of(directory, node->name, strlen(node->name), &found);
  memmove(directory->children + place, directory->children + place + 1,
          (directory->count - place - 1) * sizeof *directory->children);
  directory->count -= 1;
}

static Node *make(Node *directory, const char *name, size_t length, bool is_directory) {
  Node *node = calloc(1, sizeof *node);
  char *copy = malloc(length + 1);
  if (!node || !copy) goto failed;
  memcpy(copy, name, length);
  copy[length] = '\0';
  node->name = copy;
  node->is_directory = is_directory;
  node->inode = ++last_inode;
  if (attach(directory, node)) return node;
failed:
  free(copy);
  free(node);
  return NULL;
}

static void release(Node *node) {
  if (node == &root || node->open > 0 || !node->is_unlinked) return;
  free(node->name);
  free(node->children);
  free(node->data);
  free(node);
}

static void unlink_node(Node *node) {
  detach(node);
  node->is_unlinked = true;
  release(node);
}

static bool reserve(Node *file, uint64_t size) {
  if (size <= file->capacity) return true;
  if (size > (uint64_t)1 << 31) return false;
  size_t capacity = file->capacity ? file->capacity : 256;
  while (capacity < size) capacity *= 2;
  uint8_t *data = realloc(file->data, capacity);
  if (!data) return false;
  file->data = data;
  file->capacity = capacity;
  return true;
}

static bool resize(Node *file, uint64_t size) {
  if (!reserve(file, size)) return false;
  if (size > file->size) memset(file->data + file->size, 0, size - file->size);
  file->size = size;
  return true;
}

// Paths.

typedef struct {
  Node *directory;   // where the last part would be
  const char *name;  // the last part; empty where the path is the directory itself
  size_t length;
  Node *node;  // null: there is none of that name
} Found;

static Open *of(__wasi_fd_t fd) {
  if (fd < kRootFd || fd >= kRootFd + kMostOpen) return NULL;
  Open *open = &opened[fd - kRootFd];
  return open->node ? open : NULL;
}

static __wasi_errno_t find(__wasi_fd_t fd, const char *path, Found *found) {
  Open *base = of(fd);
  if (!base) return fd < kRootFd ? __WASI_ERRNO_NOTDIR : __WASI_ERRNO_BADF;
  if (!*path) return __WASI_ERRNO_NOENT;
  *found = (Found){.directory = base->node, .name = "", .node = base->node};
  while (*path) {
    const char *end = strchr(path, '/');
    const size_t length = end ? (size_t)(end - path) : strlen(path);
    const char *next = path + length + (end ? 1 : 0);
    if (!found->node) return __WASI_ERRNO_NOENT;
    if (!found->node->is_directory) return __WASI_ERRNO_NOTDIR;
    if (length > kLongestName) return __WASI_ERRNO_NAMETOOLONG;
    if (length == 2 && path[0] == '.' && path[1] == '.') {
      *found = (Found){.directory = found->node->parent, .name = "", .node = found->node->parent};
    } else if (length > 0 && !(length == 1 && path[0] == '.')) {
      Node *directory = found->node;
      *found = (Found){directory, path, length, child(directory, path, length)};
    }
    path = next;
  }
  return __WASI_ERRNO_SUCCESS;
}

static __wasi_errno_t find_existing(__wasi_fd_t fd, const char *path, Found *found) {
  const __wasi_errno_t result = find(fd, path, found);
  if (result != __WASI_ERRNO_SUCCESS) return result;
  return found->node ? __WASI_ERRNO_SUCCESS : __WASI_ERRNO_NOENT;
}

static void put_stat(const Node *node, __wasi_filestat_t *stat) {
  memset(stat, 0, sizeof *stat);
  stat->dev = 1;
  stat->ino = node->inode;
  stat->filetype = node->is_directory ? __WASI_FILETYPE_DIRECTORY : __WASI_FILETYPE_REGULAR_FILE;
  stat->nlink = 1;
  stat->size = node->size;
}

// The calls.

__wasi_errno_t WRAP(fd_prestat_get)(__wasi_fd_t fd, __wasi_prestat_t *out) {
  if (fd != kRootFd) return __WASI_ERRNO_BADF;
  out->tag = __WASI_PREOPENTYPE_DIR;
  out->u.dir.pr_name_len = 1;
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(fd_prestat_dir_name)(__wasi_fd_t fd, uint8_t *path, __wasi_size_t size) {
  if (fd != kRootFd) return __WASI_ERRNO_BADF;
  if (size < 1) return __WASI_ERRNO_NAMETOOLONG;
  path[0] = '/';
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(path_open)(__wasi_fd_t fd, __wasi_lookupflags_t lookup, const char *path, __wasi_oflags_t flags,
                               __wasi_rights_t rights, __wasi_rights_t inheriting, __wasi_fdflags_t descriptor_flags,
                               __wasi_fd_t *out) {
  (void)lookup;
  (void)inheriting;
  Found found;
  const __wasi_errno_t result = find(fd, path, &found);
  if (result != __WASI_ERRNO_SUCCESS) return result;
  const bool writes = (rights & __WASI_RIGHTS_FD_WRITE) != 0;
  size_t slot = 1;
  while (slot < kMostOpen && opened[slot].node) ++slot;
  if (slot == kMostOpen) return __WASI_ERRNO_MFILE;
  if (!found.node) {
    if (!(flags & __WASI_OFLAGS_CREAT)) return __WASI_ERRNO_NOENT;
    if (found.name[found.length] == '/') return __WASI_ERRNO_ISDIR;
    if (found.directory->is_unlinked) return __WASI_ERRNO_NOENT;
    found.node = make(found.directory, found.name, found.length, false);
    if (!found.node) return __WASI_ERRNO_NOSPC;
  } else {
    if ((flags & __WASI_OFLAGS_CREAT) && (flags & __WASI_OFLAGS_EXCL)) return __WASI_ERRNO_EXIST;
    if ((flags & __WASI_OFLAGS_DIRECTORY) && !found.node->is_directory) return __WASI_ERRNO_NOTDIR;
    // Directories are often opened with every right there is; only O_DIRECTORY means it.
    if (found.node->is_directory && writes && !(flags & __WASI_OFLAGS_DIRECTORY)) return __WASI_ERRNO_ISDIR;
    if ((flags & __WASI_OFLAGS_TRUNC) && !found.node->is_directory) found.node->size = 0;
  }
  found.node->open += 1;
  opened[slot] = (Open){.node = found.node,
                        .reads = (rights & __WASI_RIGHTS_FD_READ) != 0,
                        .writes = writes && !found.node->is_directory,
                        .appends = (descriptor_flags & __WASI_FDFLAGS_APPEND) != 0};
  *out = (__wasi_fd_t)(kRootFd + slot);
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(fd_close)(__wasi_fd_t fd) {
  if (fd < kRootFd) return REAL(fd_close)(fd);
  Open *open = of(fd);
  if (!open) return __WASI_ERRNO_BADF;
  Node *node = open->node;
  *open = (Open){0};
  node->open -= 1;
  release(node);
  return __WASI_ERRNO_SUCCESS;
}

static __wasi_errno_t read_at(const Open *open, const __wasi_iovec_t *vectors, size_t count, uint64_t offset,
                              __wasi_size_t *out) {
  if (open->node->is_directory) return __WASI_ERRNO_ISDIR;
  if (!open->reads) return __WASI_ERRNO_BADF;
  size_t total = 0;
  for (size_t i = 0; i < count && offset < open->node->size; ++i) {
    const uint64_t left = open->node->size - offset;
    const size_t length = vectors[i].buf_len < left ? vectors[i].buf_len : (size_t)left;
    memcpy(vectors[i].buf, open->node->data + offset, length);
    offset += length;
    total += length;
  }
  *out = total;
  return __WASI_ERRNO_SUCCESS;
}

static __wasi_errno_t write_at(const Open *open, const __wasi_ciovec_t *vectors, size_t count, uint64_t offset,
                               __wasi_size_t *out) {
  if (!open->writes) return __WASI_ERRNO_BADF;
  Node *file = open->node;
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t end = offset + vectors[i].buf_len;
    if (end > file->size && !resize(file, end)) return __WASI_ERRNO_NOSPC;
    if (vectors[i].buf_len > 0) memcpy(file->data + offset, vectors[i].buf, vectors[i].buf_len);
    offset = end;
    total += vectors[i].buf_len;
  }
  *out = total;
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(fd_read)(__wasi_fd_t fd, const __wasi_iovec_t *vectors, size_t count, __wasi_size_t *out) {
  if (fd < kRootFd) return REAL(fd_read)(fd, vectors, count, out);
  Open *open = of(fd);
  if (!open) return __WASI_ERRNO_BADF;
  const __wasi_errno_t result = read_at(open, vectors, count, open->offset, out);
  if (result == __WASI_ERRNO_SUCCESS) open->offset += *out;
  return result;
}

__wasi_errno_t WRAP(fd_pread)(__wasi_fd_t fd, const __wasi_iovec_t *vectors, size_t count, __wasi_filesize_t offset,
                              __wasi_size_t *out) {
  Open *open = of(fd);
  if (!open) return fd < kRootFd ? __WASI_ERRNO_SPIPE : __WASI_ERRNO_BADF;
  return read_at(open, vectors, count, offset, out);
}

__wasi_errno_t WRAP(fd_write)(__wasi_fd_t fd, const __wasi_ciovec_t *vectors, size_t count, __wasi_size_t *out) {
  if (fd < kRootFd) return REAL(fd_write)(fd, vectors, count, out);
  Open *open = of(fd);
  if (!open) return __WASI_ERRNO_BADF;
  const uint64_t offset = open->appends ? open->node->size : open->offset;
  const __wasi_errno_t result = write_at(open, vectors, count, offset, out);
  if (result == __WASI_ERRNO_SUCCESS) open->offset = offset + *out;
  return result;
}

__wasi_errno_t WRAP(fd_pwrite)(__wasi_fd_t fd, const __wasi_ciovec_t *vectors, size_t count, __wasi_filesize_t offset,
                               __wasi_size_t *out) {
  Open *open = of(fd);
  if (!open) return fd < kRootFd ? __WASI_ERRNO_SPIPE : __WASI_ERRNO_BADF;
  return write_at(open, vectors, count, offset, out);
}

__wasi_errno_t WRAP(fd_seek)(__wasi_fd_t fd, __wasi_filedelta_t delta, __wasi_whence_t whence, __wasi_filesize_t *out) {
  if (fd < kRootFd) return REAL(fd_seek)(fd, delta, whence, out);
  Open *open = of(fd);
  if (!open) return __WASI_ERRNO_BADF;
  if (open->node->is_directory) return __WASI_ERRNO_ISDIR;
  const int64_t base = whence == __WASI_WHENCE_CUR ? (int64_t)open->offset
                       : whence == __WASI_WHENCE_END ? (int64_t)open->node->size
                                                     : 0;
  int64_t target;
  if (__builtin_add_overflow(base, delta, &target) || target < 0) return __WASI_ERRNO_INVAL;
  *out = open->offset = (uint64_t)target;
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(fd_tell)(__wasi_fd_t fd, __wasi_filesize_t *out) {
  if (fd < kRootFd) return REAL(fd_tell)(fd, out);
  Open *open = of(fd);
  if (!open) return __WASI_ERRNO_BADF;
  *out = open->offset;
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(fd_fdstat_get)(__wasi_fd_t fd, __wasi_fdstat_t *out) {
  if (fd < kRootFd) return REAL(fd_fdstat_get)(fd, out);
  Open *open = of(fd);
  if (!open) return __WASI_ERRNO_BADF;
  memset(out, 0, sizeof *out);
  const __wasi_rights_t all = ((__wasi_rights_t)1 << 29) - 1;
  out->fs_filetype = open->node->is_directory ? __WASI_FILETYPE_DIRECTORY : __WASI_FILETYPE_REGULAR_FILE;
  out->fs_flags = open->appends ? __WASI_FDFLAGS_APPEND : 0;
  out->fs_rights_base = all;
  if (!open->node->is_directory) {
    if (!open->reads) out->fs_rights_base &= ~__WASI_RIGHTS_FD_READ;
    if (!open->writes) out->fs_rights_base &= ~__WASI_RIGHTS_FD_WRITE;
  }
  out->fs_rights_inheriting = open->node->is_directory ? all : 0;
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(fd_fdstat_set_flags)(__wasi_fd_t fd, __wasi_fdflags_t flags) {
  if (fd < kRootFd) return REAL(fd_fdstat_set_flags)(fd, flags);
  Open *open = of(fd);
  if (!open) return __WASI_ERRNO_BADF;
  open->appends = (flags & __WASI_FDFLAGS_APPEND) != 0;
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(fd_filestat_get)(__wasi_fd_t fd, __wasi_filestat_t *out) {
  if (fd < kRootFd) return REAL(fd_filestat_get)(fd, out);
  Open *open = of(fd);
  if (!open) return __WASI_ERRNO_BADF;
  put_stat(open->node, out);
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(fd_filestat_set_size)(__wasi_fd_t fd, __wasi_filesize_t size) {
  Open *open = of(fd);
  if (!open) return __WASI_ERRNO_BADF;
  if (!open->writes) return __WASI_ERRNO_INVAL;
  return resize(open->node, size) ? __WASI_ERRNO_SUCCESS : __WASI_ERRNO_NOSPC;
}

// Files have no times: those that a program sets are forgotten.
__wasi_errno_t WRAP(fd_filestat_set_times)(__wasi_fd_t fd, __wasi_timestamp_t accessed, __wasi_timestamp_t modified,
                                           __wasi_fstflags_t flags) {
  (void)accessed, (void)modified, (void)flags;
  return of(fd) ? __WASI_ERRNO_SUCCESS : __WASI_ERRNO_BADF;
}

__wasi_errno_t WRAP(path_filestat_set_times)(__wasi_fd_t fd, __wasi_lookupflags_t lookup, const char *path,
                                             __wasi_timestamp_t accessed, __wasi_timestamp_t modified,
                                             __wasi_fstflags_t flags) {
  (void)lookup, (void)accessed, (void)modified, (void)flags;
  Found found;
  return find_existing(fd, path, &found);
}

__wasi_errno_t WRAP(fd_sync)(__wasi_fd_t fd) { return fd < kRootFd || of(fd) ? __WASI_ERRNO_SUCCESS : __WASI_ERRNO_BADF; }
__wasi_errno_t WRAP(fd_datasync)(__wasi_fd_t fd) { return WRAP(fd_sync)(fd); }
__wasi_errno_t WRAP(fd_advise)(__wasi_fd_t fd, __wasi_filesize_t offset, __wasi_filesize_t size, __wasi_advice_t advice) {
  (void)offset, (void)size, (void)advice;
  return of(fd) ? __WASI_ERRNO_SUCCESS : __WASI_ERRNO_BADF;
}
__wasi_errno_t WRAP(fd_allocate)(__wasi_fd_t fd, __wasi_filesize_t offset, __wasi_filesize_t size) {
  Open *open = of(fd);
  if (!open || !open->writes) return __WASI_ERRNO_BADF;
  if (offset + size <= open->node->size) return __WASI_ERRNO_SUCCESS;
  return resize(open->node, offset + size) ? __WASI_ERRNO_SUCCESS : __WASI_ERRNO_NOSPC;
}
__wasi_errno_t WRAP(fd_renumber)(__wasi_fd_t from, __wasi_fd_t to) {
  Open *source = of(from);
  Open *target = of(to);
  if (!source || !target || from == kRootFd || to == kRootFd) return __WASI_ERRNO_BADF;
  if (source == target) return __WASI_ERRNO_SUCCESS;
  const Open moved = *source;
  const __wasi_errno_t closed = WRAP(fd_close)(to);
  *target = moved;
  *source = (Open){0};
  return closed;
}

// Entries are ".", "..", then the children in order; a cookie is the number of the entry to begin with. An entry that
// doesn't fit is cut off, which tells the caller to ask again with a larger buffer.
__wasi_errno_t WRAP(fd_readdir)(__wasi_fd_t fd, uint8_t *buffer, __wasi_size_t size, __wasi_dircookie_t cookie,
                                __wasi_size_t *out) {
  Open *open = of(fd);
  if (!open) return fd < kRootFd ? __WASI_ERRNO_NOTDIR : __WASI_ERRNO_BADF;
  if (!open->node->is_directory) return __WASI_ERRNO_NOTDIR;
  size_t used = 0;
  for (uint64_t i = cookie; i < open->node->count + 2 && used < size; ++i) {
    const Node *node = i == 0 ? open->node : i == 1 ? open->node->parent : open->node->children[i - 2];
    const char *name = i == 0 ? "." : i == 1 ? ".." : node->name;
    __wasi_dirent_t entry;
    memset(&entry, 0, sizeof entry);
    entry.d_next = i + 1;
    entry.d_ino = node->inode;
    entry.d_namlen = strlen(name);
    entry.d_type = node->is_directory ? __WASI_FILETYPE_DIRECTORY : __WASI_FILETYPE_REGULAR_FILE;
    const size_t head = sizeof entry < size - used ? sizeof entry : size - used;
    memcpy(buffer + used, &entry, head);
    used += head;
    const size_t tail = entry.d_namlen < size - used ? entry.d_namlen : size - used;
    memcpy(buffer + used, name, tail);
    used += tail;
  }
  *out = used;
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(path_filestat_get)(__wasi_fd_t fd, __wasi_lookupflags_t lookup, const char *path,
                                       __wasi_filestat_t *out) {
  (void)lookup;
  Found found;
  const __wasi_errno_t result = find_existing(fd, path, &found);
  if (result == __WASI_ERRNO_SUCCESS) put_stat(found.node, out);
  return result;
}

__wasi_errno_t WRAP(path_create_directory)(__wasi_fd_t fd, const char *path) {
  Found found;
  const __wasi_errno_t result = find(fd, path, &found);
  if (result != __WASI_ERRNO_SUCCESS) return result;
  if (found.node) return __WASI_ERRNO_EXIST;
  if (found.directory->is_unlinked) return __WASI_ERRNO_NOENT;
  size_t depth = 0;
  for (const Node *each = found.directory; each != &root; each = each->parent) ++depth;
  if (depth >= kMostDepth) return __WASI_ERRNO_NAMETOOLONG;
  return make(found.directory, found.name, found.length, true) ? __WASI_ERRNO_SUCCESS : __WASI_ERRNO_NOSPC;
}

static bool stays(const Node *node) { return node == &root || node->parent == &root; }

__wasi_errno_t WRAP(path_remove_directory)(__wasi_fd_t fd, const char *path) {
  Found found;
  const __wasi_errno_t result = find_existing(fd, path, &found);
  if (result != __WASI_ERRNO_SUCCESS) return result;
  if (!found.node->is_directory) return __WASI_ERRNO_NOTDIR;
  if (found.node->count > 0) return __WASI_ERRNO_NOTEMPTY;
  if (stays(found.node) || found.length == 0) return __WASI_ERRNO_BUSY;
  unlink_node(found.node);
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(path_unlink_file)(__wasi_fd_t fd, const char *path) {
  Found found;
  const __wasi_errno_t result = find_existing(fd, path, &found);
  if (result != __WASI_ERRNO_SUCCESS) return result;
  if (found.node->is_directory) return __WASI_ERRNO_ISDIR;
  unlink_node(found.node);
  return __WASI_ERRNO_SUCCESS;
}

__wasi_errno_t WRAP(path_rename)(__wasi_fd_t fd, const char *path, __wasi_fd_t to, const char *target) {
  Found old, new;
  __wasi_errno_t result = find_existing(fd, path, &old);
  if (result == __WASI_ERRNO_SUCCESS) result = find(to, target, &new);
  if (result != __WASI_ERRNO_SUCCESS) return result;
  if (stays(old.node) || old.length == 0 || new.length == 0) return __WASI_ERRNO_BUSY;
  if (old.node == new.node) return __WASI_ERRNO_SUCCESS;
  for (const Node *each = new.directory; each != &root; each = each->parent)
    if (each == old.node) return __WASI_ERRNO_INVAL;
  if (new.node) {
    if (new.node->is_directory && !old.node->is_directory) return __WASI_ERRNO_ISDIR;
    if (!new.node->is_directory && old.node->is_directory) return __WASI_ERRNO_NOTDIR;
    if (new.node->count > 0) return __WASI_ERRNO_NOTEMPTY;
  }
  char *name = malloc(new.length + 1);
  if (!name) return __WASI_ERRNO_NOSPC;
  memcpy(name, new.name, new.length);
  name[new.length] = '\0';
  if (new.node) unlink_node(new.node);
  detach(old.node);
  free(old.node->name);
  old.node->name = name;
  if (!attach(new.directory, old.node)) abort();
  return __WASI_ERRNO_SUCCESS;
}

// There is one name for each file.
__wasi_errno_t WRAP(path_link)(__wasi_fd_t fd, __wasi_lookupflags_t lookup, const char *path, __wasi_fd_t to,
                               const char *target) {
  (void)fd, (void)lookup, (void)path, (void)to, (void)target;
  return __WASI_ERRNO_NOTSUP;
}
__wasi_errno_t WRAP(path_symlink)(const char *path, __wasi_fd_t fd, const char *target) {
  (void)path, (void)fd, (void)target;
  return __WASI_ERRNO_NOTSUP;
}
__wasi_errno_t WRAP(path_readlink)(__wasi_fd_t fd, const char *path, uint8_t *buffer, __wasi_size_t size,
                                   __wasi_size_t *out) {
  (void)buffer, (void)size, (void)out;
  Found found;
  const __wasi_errno_t result = find_existing(fd, path, &found);
  return result == __WASI_ERRNO_SUCCESS ? __WASI_ERRNO_INVAL : result;
}

// The host's files.

static bool copy_file(__wasi_fd_t fd, Node *file) {
  for (;;) {
    if (!reserve(file, file->size + 65536)) return false;
    const __wasi_iovec_t vector = {file->data + file->size, 65536};
    __wasi_size_t length = 0;
    if (REAL(fd_read)(fd, &vector, 1, &length) != __WASI_ERRNO_SUCCESS) return false;
    if (length == 0) break;
    file->size += length;
  }
  uint8_t *exact = realloc(file->data, file->size ? file->size : 1);
  if (exact) {
    file->data = exact;
    file->capacity = file->size ? file->size : 1;
  }
  return true;
}

static bool copy_directory(__wasi_fd_t fd, Node *directory);

static bool copy_entry(__wasi_fd_t fd, Node *directory, const __wasi_dirent_t *entry, const char *name) {
  const bool is_directory = entry->d_type == __WASI_FILETYPE_DIRECTORY;
  Node *node = make(directory, name, entry->d_namlen, is_directory);
  if (!node) return false;
  const __wasi_rights_t rights = __WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_READDIR | __WASI_RIGHTS_PATH_OPEN;
  __wasi_fd_t opened_fd;
  if (REAL(path_open)(fd, 0, node->name, is_directory ? __WASI_OFLAGS_DIRECTORY : 0, rights, rights, 0, &opened_fd) !=
      __WASI_ERRNO_SUCCESS)
    return false;
  const bool copied = is_directory ? copy_directory(opened_fd, node) : copy_file(opened_fd, node);
  return REAL(fd_close)(opened_fd) == __WASI_ERRNO_SUCCESS && copied;
}

static bool copy_directory(__wasi_fd_t fd, Node *directory) {
  enum { kBuffer = 16384 };
  uint8_t *buffer = malloc(kBuffer);
  bool good = buffer != NULL;
  __wasi_dircookie_t cookie = 0;
  for (bool more = true; good && more;) {
    __wasi_size_t used = 0;
    good = REAL(fd_readdir)(fd, buffer, kBuffer, cookie, &used) == __WASI_ERRNO_SUCCESS;
    more = good && used == kBuffer;
    for (size_t at = 0; good && at + sizeof(__wasi_dirent_t) <= used;) {
      __wasi_dirent_t entry;
      memcpy(&entry, buffer + at, sizeof entry);
      const char *name = (const char *)buffer + at + sizeof entry;
      if (at + sizeof entry + entry.d_namlen > used) break;
      const bool self = (entry.d_namlen == 1 && name[0] == '.') || (entry.d_namlen == 2 && memcmp(name, "..", 2) == 0);
      good = self || copy_entry(fd, directory, &entry, name);
      at += sizeof entry + entry.d_namlen;
      cookie = entry.d_next;
    }
  }
  free(buffer);
  return good;
}

static Node *directory_of_root(const char *name) {
  Node *found = child(&root, name, strlen(name));
  return found ? found : make(&root, name, strlen(name), true);
}

bool ramfs_load(void) {
  static const char kPackage[] = "/package";
  Node *package = directory_of_root("package");
  if (!package || !directory_of_root("tmp")) return false;
  if (package->count > 0) return true;
  for (__wasi_fd_t fd = kRootFd;; ++fd) {
    __wasi_prestat_t stat;
    uint8_t name[sizeof kPackage] = {0};
    if (REAL(fd_prestat_get)(fd, &stat) != __WASI_ERRNO_SUCCESS) return true;
    if (stat.u.dir.pr_name_len != sizeof kPackage - 1 ||
        REAL(fd_prestat_dir_name)(fd, name, sizeof kPackage - 1) != __WASI_ERRNO_SUCCESS ||
        memcmp(name, kPackage, sizeof kPackage - 1) != 0)
      continue;
    return copy_directory(fd, package);
  }
}
