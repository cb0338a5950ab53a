#pragma once
// Seed and clock of renders outside a cluster: drawn once and kept in a file that only its owner may read, so
// that the same command gives the same bytes tomorrow.

#include "base/clock.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/random.h"
#include "render/release_facts.h"

namespace mist::render {

/// Whether a missing seed file is made, or is NotFound: one that the user named has to be there, or a slip of
/// the pen would change every secret. Mounted: it has to be there too, in a container's volume, such as a
/// Secret's. Its modes are the volume's, by default 0644, and the container is what keeps others out.
enum class SeedFile : std::uint8_t { MayBeMade, MustExist, Mounted };

/// Reads `path`, or draws and writes it (mode 0600); where that can't be written, warns that what is drawn
/// won't be the same again. The seed is that of this release: two names never draw
/// the same (HKDF-SHA256 of the file's seed, "mistletoe/local-release/v1/" + namespace + "/" + name).
/// Invalid: the file is damaged, or others may read it and it isn't Mounted.
Result<FixedInputs> local_fixed_inputs(FileSystem& files, Random& random, const Clock& clock,
                                       EventSink& events, const Path& path, SeedFile missing,
                                       const release::ReleaseId& release);

}  // namespace mist::render
