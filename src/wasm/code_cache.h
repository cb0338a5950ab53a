#pragma once
// Compiled code on disk, mapped as it is. Mapping wrong bytes would run them, so a file counts only if it is
// a regular file of ours that nobody else can write, and either nothing of its device, inode, size and times
// differs from its stamp or its digest is still the one in the stamp. Files are published by rename under a
// lock and never edited; eviction unlinks, which leaves running programs their mapping. A killed process
// leaves at most a temporary file, which a later one removes.
//
//   <key>.code   the compiled code         <key>.stamp   device inode size mtime ctime sha256, one line of
//   text; lock         flock while publishing                  its own mtime says when the entry was last
//   used
//
// Nothing here fails its caller: a cache that doesn't work warns once and is then off. Any thread, any number
// of processes.

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/event.h"
#include "base/fs.h"
#include "crypto/digest.h"

namespace mist::wasm {

/// The readers of published code: only this user, or everybody (an installation's).
enum class CodeReaders : std::uint8_t { Owner, All };

class CodeCache {
 public:
  /// `directory` is created on first use (mode 0700, for all 0755); empty: no cache. After a store the oldest
  /// entries go until all are at most `limit` bytes.
  CodeCache(Path directory, std::uint64_t limit, EventSink& events, CodeReaders readers = CodeReaders::Owner);

  /// Calls `map` with the path of a trusted file if there is one, and returns what `map` did (true: mapped).
  /// The file may be unlinked by others at any time afterwards. When `map` says false the entry is removed:
  /// it was trusted and is still of no use. `what` names the module in warnings.
  bool load(const crypto::Digest& key, std::string_view what, const std::function<bool(const Path&)>& map);

  /// Publishes `code` unless the key is there already.
  void store(const crypto::Digest& key, std::span<const std::byte> code);

 private:
  UniqueFd open_directory(bool create);
  bool is_trusted(int directory, const std::string& key, int file, std::string_view what);
  void publish(int directory, const std::string& key, std::span<const std::byte> code);
  void evict(int directory, const std::string& keep);
  void remove_entry(int directory, const std::string& key);
  void disable(const Error& reason);

  Path directory_;
  std::uint64_t limit_;
  EventSink& events_;
  CodeReaders readers_;
  std::atomic<bool> disabled_;
};

/// Compiled code that an installation brought along, in a CodeCache's directory that root (or this user)
/// owns. Only read: a file counts if its stamp is right; else it is as if it weren't there, with a warning.
/// Any thread.
class SharedCodeCache {
 public:
  /// `directory` empty: nothing is ever there.
  SharedCodeCache(Path directory, EventSink& events) : directory_(std::move(directory)), events_(events) {}

  /// As CodeCache::load.
  bool load(const crypto::Digest& key, std::string_view what, const std::function<bool(const Path&)>& map);

 private:
  Path directory_;
  EventSink& events_;
};

}  // namespace mist::wasm
