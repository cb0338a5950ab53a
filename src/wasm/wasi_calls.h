#pragma once
// The implementations behind the table of wasi.h; only wasi.cc and its two siblings include this.

#include "wasm/wasi.h"

namespace mist::wasm {

using WasiArguments = std::span<const std::uint64_t>;

/// Arguments, environment, clocks, waiting, random bytes, exit: wasi.cc.
struct WasiCalls {
  static Errno args_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno args_sizes_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno environ_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno environ_sizes_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno clock_res_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno clock_time_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno poll_oneoff(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno proc_exit(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno random_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno sched_yield(Wasi& wasi, GuestMemory memory, WasiArguments a);
};

/// Descriptors and paths: wasi_files.cc.
struct WasiFileCalls {
  static Errno fd_advise(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_close(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_fdstat_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_filestat_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_pread(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_prestat_dir_name(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_prestat_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_read(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_readdir(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_renumber(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_seek(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_tell(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno fd_write(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno path_filestat_get(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno path_open(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno path_readlink(Wasi& wasi, GuestMemory memory, WasiArguments a);
  /// Calls that set something of an open file which has no effect here.
  static Errno fd_accept(Wasi& wasi, GuestMemory memory, WasiArguments a);
  /// Calls that would change the tree.
  static Errno fd_read_only(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno path_read_only(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno not_a_socket(Wasi& wasi, GuestMemory memory, WasiArguments a);
  static Errno not_supported(Wasi& wasi, GuestMemory memory, WasiArguments a);

 private:
  /// Resolves a path below the directory `descriptor`.
  static Errno resolve(Wasi& wasi, std::uint64_t descriptor, std::optional<std::string_view> path,
                       FileTree::NodeId& out);
  static Errno put_filestat(const Wasi& wasi, GuestMemory memory, std::uint64_t address,
                            const Wasi::OpenFile& file);
  static Errno read_at(Wasi& wasi, GuestMemory memory, const Wasi::OpenFile& file, std::uint64_t offset,
                       std::uint64_t vectors, std::uint64_t count, std::uint64_t& total);
};

}  // namespace mist::wasm
