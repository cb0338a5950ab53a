#pragma once
// Which process somebody is, beyond its number: the start of the machine, the namespace of process numbers,
// the number, and when it began. So whoever is on the same machine later knows for sure that it has ended,
// whatever has that number by then. Reads /proc; any thread.

#include <cstdint>
#include <string>
#include <string_view>

namespace mist {

enum class ProcessLife : std::uint8_t {
  Unknown,  ///< it is on another machine or in another container, or it isn't known where
  Alive,
  Dead,
};

/// The name of this machine, or of the Pod; empty: it can't be told.
std::string host_name();

/// This process: "BOOT/NAMESPACE/NUMBER/START"; empty where /proc doesn't tell.
std::string own_process();

/// Whether the process that own_process() identified in this way still runs.
ProcessLife life_of_process(std::string_view identity);

}  // namespace mist
