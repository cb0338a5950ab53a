#include <algorithm>

#include "base/text.h"
#include "wasm/wasi_calls.h"

namespace mist::wasm {
namespace {

constexpr std::string_view kPreopenName = "/package";

// witx: filetype.
constexpr std::uint8_t kCharacterDevice = 2;
constexpr std::uint8_t kDirectory = 3;
constexpr std::uint8_t kRegularFile = 4;

// witx: rights.
constexpr std::uint64_t kRightRead = 1U << 1;
constexpr std::uint64_t kRightSeek = 1U << 2;
constexpr std::uint64_t kRightTell = 1U << 5;
constexpr std::uint64_t kRightWrite = 1U << 6;
constexpr std::uint64_t kRightAdvise = 1U << 7;
constexpr std::uint64_t kRightPathOpen = 1U << 13;
constexpr std::uint64_t kRightReaddir = 1U << 14;
constexpr std::uint64_t kRightReadlink = 1U << 15;
constexpr std::uint64_t kRightPathStat = 1U << 18;
constexpr std::uint64_t kRightFileStat = 1U << 21;
constexpr std::uint64_t kRightPoll = 1U << 27;
constexpr std::uint64_t kFileRights =
    kRightRead | kRightSeek | kRightTell | kRightAdvise | kRightFileStat | kRightPoll;
constexpr std::uint64_t kDirectoryRights =
    kRightPathOpen | kRightReaddir | kRightReadlink | kRightPathStat | kRightFileStat;

// witx: oflags.
constexpr std::uint64_t kOpenCreate = 1;
constexpr std::uint64_t kOpenDirectory = 2;
constexpr std::uint64_t kOpenTruncate = 8;

constexpr std::uint64_t kMaxPath = 4096;

}  // namespace

Errno WasiFileCalls::resolve(Wasi& wasi, std::uint64_t descriptor, std::optional<std::string_view> path,
                             FileTree::NodeId& out) {
  const Wasi::OpenFile* const base = wasi.file(descriptor);
  if (base == nullptr) return Errno::BadF;
  if (base->kind != Wasi::FileKind::Node) return Errno::NotDir;
  if (!path) return Errno::Fault;
  if (path->empty()) return Errno::NoEnt;
  if (path->size() > kMaxPath) return Errno::NameTooLong;
  if (!is_valid_utf8(*path) || path->find('\0') != std::string_view::npos) return Errno::Ilseq;
  if (path->starts_with('/')) return Errno::NotCapable;

  const FileTree& tree = *wasi.system_.files;
  FileTree::NodeId node = base->node;
  for (const std::string_view part : split(*path, '/')) {
    if (!tree.node(node).is_directory) return Errno::NotDir;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      // A descriptor gives what is below it and nothing else.
      if (node == base->node) return Errno::NotCapable;
      node = tree.node(node).parent;
      continue;
    }
    const FileTree::NodeId* const child = tree.child(node, part);
    if (child == nullptr) return Errno::NoEnt;
    node = *child;
  }
  out = node;
  return Errno::Success;
}

Errno WasiFileCalls::put_filestat(const Wasi& wasi, GuestMemory memory, std::uint64_t address,
                                  const Wasi::OpenFile& file) {
  const auto stat = memory.bytes(address, 64);
  if (!stat) return Errno::Fault;
  std::ranges::fill(*stat, std::byte{0});  // device and all times are zero
  std::uint8_t type = kCharacterDevice;
  std::uint64_t size = 0;
  std::uint64_t inode = 0;
  if (file.kind == Wasi::FileKind::Node) {
    const FileTree::Node& node = wasi.system_.files->node(file.node);
    type = node.is_directory ? kDirectory : kRegularFile;
    size = node.content.size();
    inode = std::uint64_t{file.node} + 1;
  }
  const GuestMemory fields(*stat);
  const bool ok = fields.put<std::uint64_t>(8, inode) && fields.put<std::uint8_t>(16, type) &&
                  fields.put<std::uint64_t>(24, 1) && fields.put<std::uint64_t>(32, size);
  return ok ? Errno::Success : Errno::Fault;
}

Errno WasiFileCalls::read_at(Wasi& wasi, GuestMemory memory, const Wasi::OpenFile& file, std::uint64_t offset,
                             std::uint64_t vectors, std::uint64_t count, std::uint64_t& total) {
  std::string_view content;
  if (file.kind == Wasi::FileKind::Input) {
    content = wasi.input_;
  } else if (file.kind == Wasi::FileKind::Node) {
    const FileTree::Node& node = wasi.system_.files->node(file.node);
    if (node.is_directory) return Errno::IsDir;
    content = node.content;
  } else {
    return Errno::BadF;
  }
  if (!memory.has(vectors, count * 8)) return Errno::Fault;
  content = content.substr(std::min<std::uint64_t>(offset, content.size()));
  total = 0;
  for (std::uint64_t i = 0; i < count && !content.empty(); ++i) {
    const std::uint64_t address = *memory.get<std::uint32_t>(vectors + 8 * i);
    const std::uint64_t length = *memory.get<std::uint32_t>(vectors + 8 * i + 4);
    const std::string_view piece = content.substr(0, length);
    if (!memory.has(address, length) || !memory.put_text(address, piece)) return Errno::Fault;
    content.remove_prefix(piece.size());
    total += piece.size();
  }
  return Errno::Success;
}

Errno WasiFileCalls::fd_read(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  Wasi::OpenFile* const file = wasi.file(a[0]);
  if (file == nullptr) return Errno::BadF;
  if (!memory.has(a[3], 4)) return Errno::Fault;
  std::uint64_t total = 0;
  if (const Errno result = read_at(wasi, memory, *file, file->offset, a[1], a[2], total);
      result != Errno::Success)
    return result;
  file->offset += total;
  return memory.put<std::uint32_t>(a[3], static_cast<std::uint32_t>(total)) ? Errno::Success : Errno::Fault;
}

Errno WasiFileCalls::fd_pread(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  const Wasi::OpenFile* const file = wasi.file(a[0]);
  if (file == nullptr) return Errno::BadF;
  if (file->kind != Wasi::FileKind::Node) return Errno::SPipe;
  std::uint64_t total = 0;
  if (const Errno result = read_at(wasi, memory, *file, a[3], a[1], a[2], total); result != Errno::Success)
    return result;
  return memory.put<std::uint32_t>(a[4], static_cast<std::uint32_t>(total)) ? Errno::Success : Errno::Fault;
}

Errno WasiFileCalls::fd_write(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  const Wasi::OpenFile* const file = wasi.file(a[0]);
  if (file == nullptr) return Errno::BadF;
  std::string* to = nullptr;
  if (file->kind == Wasi::FileKind::Output) to = &wasi.out;
  if (file->kind == Wasi::FileKind::ErrorOutput) to = &wasi.err;
  if (to == nullptr) return Errno::BadF;
  if (!memory.has(a[1], a[2] * 8) || !memory.has(a[3], 4)) return Errno::Fault;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < a[2]; ++i) {
    const auto text =
        memory.text(*memory.get<std::uint32_t>(a[1] + 8 * i), *memory.get<std::uint32_t>(a[1] + 8 * i + 4));
    if (!text) return Errno::Fault;
    if (!wasi.write_output(*to, *text)) return Errno::Success;
    total += text->size();
  }
  return memory.put<std::uint32_t>(a[3], static_cast<std::uint32_t>(total)) ? Errno::Success : Errno::Fault;
}

Errno WasiFileCalls::fd_seek(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  Wasi::OpenFile* const file = wasi.file(a[0]);
  if (file == nullptr) return Errno::BadF;
  if (file->kind != Wasi::FileKind::Node) return Errno::SPipe;
  const FileTree::Node& node = wasi.system_.files->node(file->node);
  if (node.is_directory) return Errno::IsDir;
  constexpr std::uint64_t kSet = 0;
  constexpr std::uint64_t kCurrent = 1;
  constexpr std::uint64_t kEnd = 2;
  std::uint64_t base = 0;
  if (a[2] == kCurrent)
    base = file->offset;
  else if (a[2] == kEnd)
    base = node.content.size();
  else if (a[2] != kSet)
    return Errno::Inval;
  std::int64_t target = 0;
  if (__builtin_add_overflow(static_cast<std::int64_t>(base), static_cast<std::int64_t>(a[1]), &target) ||
      target < 0)
    return Errno::Inval;
  if (!memory.put<std::uint64_t>(a[3], static_cast<std::uint64_t>(target))) return Errno::Fault;
  file->offset = static_cast<std::uint64_t>(target);
  return Errno::Success;
}

Errno WasiFileCalls::fd_tell(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  const Wasi::OpenFile* const file = wasi.file(a[0]);
  if (file == nullptr) return Errno::BadF;
  if (file->kind != Wasi::FileKind::Node) return Errno::SPipe;
  return memory.put<std::uint64_t>(a[1], file->offset) ? Errno::Success : Errno::Fault;
}

Errno WasiFileCalls::fd_close(Wasi& wasi, GuestMemory, WasiArguments a) {
  Wasi::OpenFile* const file = wasi.file(a[0]);
  if (file == nullptr) return Errno::BadF;
  *file = {};
  return Errno::Success;
}

Errno WasiFileCalls::fd_renumber(Wasi& wasi, GuestMemory, WasiArguments a) {
  Wasi::OpenFile* const from = wasi.file(a[0]);
  Wasi::OpenFile* const to = wasi.file(a[1]);
  if (from == nullptr || to == nullptr) return Errno::BadF;
  if (from != to) {
    *to = *from;
    *from = {};
  }
  return Errno::Success;
}

Errno WasiFileCalls::fd_fdstat_get(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  const Wasi::OpenFile* const file = wasi.file(a[0]);
  if (file == nullptr) return Errno::BadF;
  const auto stat = memory.bytes(a[1], 24);
  if (!stat) return Errno::Fault;
  std::uint8_t type = kCharacterDevice;
  std::uint64_t rights =
      (file->kind == Wasi::FileKind::Input ? kRightRead : kRightWrite) | kRightPoll | kRightFileStat;
  std::uint64_t inheriting = 0;
  if (file->kind == Wasi::FileKind::Node) {
    const bool directory = wasi.system_.files->node(file->node).is_directory;
    type = directory ? kDirectory : kRegularFile;
    rights = directory ? kDirectoryRights : kFileRights;
    inheriting = directory ? kDirectoryRights | kFileRights : 0;
  }
  std::ranges::fill(*stat, std::byte{0});
  const GuestMemory fields(*stat);
  const bool ok = fields.put<std::uint8_t>(0, type) && fields.put<std::uint64_t>(8, rights) &&
                  fields.put<std::uint64_t>(16, inheriting);
  return ok ? Errno::Success : Errno::Fault;
}

Errno WasiFileCalls::fd_filestat_get(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  const Wasi::OpenFile* const file = wasi.file(a[0]);
  return file == nullptr ? Errno::BadF : put_filestat(wasi, memory, a[1], *file);
}

Errno WasiFileCalls::fd_prestat_get(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  const Wasi::OpenFile* const file = wasi.file(a[0]);
  if (file == nullptr || !file->is_preopen) return Errno::BadF;
  return memory.put<std::uint32_t>(a[1], 0) && memory.put<std::uint32_t>(a[1] + 4, kPreopenName.size())
             ? Errno::Success
             : Errno::Fault;
}

Errno WasiFileCalls::fd_prestat_dir_name(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  const Wasi::OpenFile* const file = wasi.file(a[0]);
  if (file == nullptr || !file->is_preopen) return Errno::BadF;
  if (a[2] < kPreopenName.size()) return Errno::NameTooLong;
  return memory.put_text(a[1], kPreopenName) ? Errno::Success : Errno::Fault;
}

// Entries are ".", "..", then the children in order; a cookie is the number of the entry to begin with. An
// entry that doesn't fit is cut off, which tells the guest to ask again with a larger buffer (witx:
// fd_readdir).
Errno WasiFileCalls::fd_readdir(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  const Wasi::OpenFile* const file = wasi.file(a[0]);
  if (file == nullptr) return Errno::BadF;
  if (file->kind != Wasi::FileKind::Node) return Errno::NotDir;
  const FileTree& tree = *wasi.system_.files;
  const FileTree::Node& directory = tree.node(file->node);
  if (!directory.is_directory) return Errno::NotDir;
  const auto buffer = memory.bytes(a[1], a[2]);
  if (!buffer || !memory.has(a[4], 4)) return Errno::Fault;

  std::size_t used = 0;
  const auto append = [&](const void* data, std::size_t size) {
    const std::size_t count = std::min(size, buffer->size() - used);
    if (count != 0) std::memcpy(buffer->data() + used, data, count);
    used += count;
  };
  const std::uint64_t entries = directory.children.size() + 2;
  for (std::uint64_t i = a[3]; i < entries && used < buffer->size(); ++i) {
    FileTree::NodeId node = file->node;
    std::string_view entry_name = ".";
    if (i == 1) {
      entry_name = "..";
      // The parent of what was opened is outside of what it gives, so its inode says nothing.
    } else if (i > 1) {
      node = directory.children[i - 2];
      entry_name = tree.node(node).name;
    }
    std::array<std::byte, 24> entry{};
    const GuestMemory fields(entry);
    const bool ok = fields.put<std::uint64_t>(0, i + 1) &&
                    fields.put<std::uint64_t>(8, std::uint64_t{node} + 1) &&
                    fields.put<std::uint32_t>(16, static_cast<std::uint32_t>(entry_name.size())) &&
                    fields.put<std::uint8_t>(20, tree.node(node).is_directory ? kDirectory : kRegularFile);
    if (!ok) return Errno::Fault;
    append(entry.data(), entry.size());
    append(entry_name.data(), entry_name.size());
  }
  return memory.put<std::uint32_t>(a[4], static_cast<std::uint32_t>(used)) ? Errno::Success : Errno::Fault;
}

Errno WasiFileCalls::path_open(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  const std::uint64_t flags = a[4];
  const std::uint64_t rights = a[5];
  FileTree::NodeId node = FileTree::kRoot;
  const Errno found = resolve(wasi, a[0], memory.text(a[2], a[3]), node);
  if (found == Errno::NoEnt && (flags & kOpenCreate) != 0) return Errno::RoFs;
  if (found != Errno::Success) return found;
  const bool directory = wasi.system_.files->node(node).is_directory;
  if ((flags & kOpenDirectory) != 0 && !directory) return Errno::NotDir;
  // Directories are often opened with every right there is; only for a file does asking to write mean it.
  if ((flags & kOpenTruncate) != 0 || (!directory && (rights & kRightWrite) != 0)) return Errno::RoFs;

  auto slot = std::ranges::find(wasi.files_, Wasi::FileKind::Closed, &Wasi::OpenFile::kind);
  if (slot == wasi.files_.end()) {
    if (wasi.files_.size() == Wasi::kMaxFiles) return Errno::MFile;
    slot = wasi.files_.insert(wasi.files_.end(), Wasi::OpenFile{});
  }
  const auto descriptor = static_cast<std::uint32_t>(slot - wasi.files_.begin());
  if (!memory.put<std::uint32_t>(a[8], descriptor)) return Errno::Fault;
  *slot = {.kind = Wasi::FileKind::Node, .node = node};
  return Errno::Success;
}

Errno WasiFileCalls::path_filestat_get(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  Wasi::OpenFile file{.kind = Wasi::FileKind::Node};
  if (const Errno result = resolve(wasi, a[0], memory.text(a[2], a[3]), file.node); result != Errno::Success)
    return result;
  return put_filestat(wasi, memory, a[4], file);
}

Errno WasiFileCalls::path_readlink(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  FileTree::NodeId node = FileTree::kRoot;
  const Errno result = resolve(wasi, a[0], memory.text(a[1], a[2]), node);
  return result == Errno::Success ? Errno::Inval : result;  // there is no symbolic link in a package
}

Errno WasiFileCalls::fd_advise(Wasi& wasi, GuestMemory, WasiArguments a) {
  return wasi.file(a[0]) == nullptr ? Errno::BadF : Errno::Success;
}
Errno WasiFileCalls::fd_accept(Wasi& wasi, GuestMemory, WasiArguments a) {
  return wasi.file(a[0]) == nullptr ? Errno::BadF : Errno::Success;
}
Errno WasiFileCalls::fd_read_only(Wasi& wasi, GuestMemory, WasiArguments a) {
  return wasi.file(a[0]) == nullptr ? Errno::BadF : Errno::RoFs;
}
Errno WasiFileCalls::path_read_only(Wasi&, GuestMemory, WasiArguments) { return Errno::RoFs; }
Errno WasiFileCalls::not_a_socket(Wasi& wasi, GuestMemory, WasiArguments a) {
  return wasi.file(a[0]) == nullptr ? Errno::BadF : Errno::NotSock;
}
Errno WasiFileCalls::not_supported(Wasi&, GuestMemory, WasiArguments) { return Errno::NotSup; }

}  // namespace mist::wasm
