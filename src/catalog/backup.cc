#include "catalog/backup.h"

#include <functional>
#include <optional>
#include <set>

#include "catalog/blobs.h"
#include "catalog/catalog_database.h"
#include "catalog/sql_blobs.h"

namespace mist::catalog {
namespace {

Status copy_blobs(const std::set<crypto::Digest>& digests, const Blobs& from, Blobs& to,
                  const Context& context) {
  for (const crypto::Digest& each : digests) {
    MIST_TRY_VOID(context.check());
    MIST_TRY(const std::string bytes, from.get(each));
    MIST_TRY_VOID(to.put(bytes));
  }
  return {};
}

Status must_be_backup(FileSystem& files, const Path& source) {
  if (files.exists(DataPlaces{source}.database())) return {};
  return error(ErrorKind::NotFound, "{} is not a backup of a catalog", source.string());
}

// `work` has the directory for itself. It is empty at first, also if a process was killed in it, and gone
// afterwards. Conflict: another process has it.
Status alone_in(FileSystem& files, const Path& directory, const std::function<Status()>& work) {
  MIST_TRY_VOID(files.make_directories(directory.parent_path(), 0700));
  const Path lock_file = directory.string() + ".lock";
  MIST_TRY(const std::optional<FileLock> lock, FileLock::try_acquire(lock_file));
  if (!lock)
    return error(ErrorKind::Conflict, "another process is using {}", directory.string())
        .with_hint("wait until it has ended");
  Status done = files.remove_all(directory);
  if (done.ok()) done = files.make_directories(directory, 0700);
  if (done.ok()) done = work();
  (void)files.remove_all(directory);
  (void)files.remove(lock_file);
  return done;
}

// `fill` writes it beside, and then it is there.
Status appear(FileSystem& files, const Path& wanted, const std::function<Status(const Path&)>& fill) {
  const Path target = wanted.filename().empty() ? wanted.parent_path() : wanted;  // "copies/monday/"
  const auto must_be_free = [&]() -> Status {
    if (!files.exists(target)) return {};
    return error(ErrorKind::Conflict, "{} is there already", target.string());
  };
  MIST_TRY_VOID(must_be_free());
  const Path beside = target.parent_path() / ("." + target.filename().string() + ".incomplete");
  return alone_in(files, beside, [&]() -> Status {
    MIST_TRY_VOID(must_be_free());  // another process may have made it until now
    MIST_TRY_VOID(fill(beside));
    return files.rename(beside, target);
  });
}

// Bytes are there before a version names them, and never go: all that the copy names can be copied then.
Status copy_catalog(FileSystem& files, const DataPlaces& source, const DataPlaces& copy,
                    const Context& context) {
  MIST_TRY_VOID(copy_sqlite(source.database(), copy.database()));
  MIST_TRY(const std::set<crypto::Digest> digests, check_sqlite(copy.database()));
  const FileBlobs from(files, source.blobs());
  FileBlobs to(files, copy.blobs());
  return copy_blobs(digests, from, to, context);
}

}  // namespace

Status back_up(FileSystem& files, const DataPlaces& data, const Path& target, const Context& context) {
  return appear(files, target, [&](const Path& directory) -> Status {
    return copy_catalog(files, data, DataPlaces{directory}, context);
  });
}

Status back_up(FileSystem& files, const postgres::Url& database, const Path& target, const Context& context) {
  return appear(files, target, [&](const Path& directory) -> Status {
    const DataPlaces copy{directory};
    MIST_TRY_VOID(copy_from_postgres(database, copy.database(), context));
    MIST_TRY(const std::set<crypto::Digest> digests, check_sqlite(copy.database()));
    MIST_TRY(const auto connections, open_postgres_as_it_is(database));
    const SqlBlobs from(connections);
    FileBlobs to(files, copy.blobs());
    return copy_blobs(digests, from, to, context);
  });
}

Status restore(FileSystem& files, const Path& source, const DataPlaces& data, const Context& context,
               RestoredAs as) {
  MIST_TRY_VOID(must_be_backup(files, source));
  return appear(files, data.root, [&](const Path& directory) -> Status {
    const DataPlaces copy{directory};
    MIST_TRY_VOID(copy_catalog(files, DataPlaces{source}, copy, context));
    return as == RestoredAs::TheSame ? Status() : forget_instance(copy.database());
  });
}

Status restore(FileSystem& files, const Path& source, const postgres::Url& database, const Path& scratch,
               const Context& context, RestoredAs as) {
  MIST_TRY_VOID(must_be_backup(files, source));
  return alone_in(files, scratch, [&]() -> Status {
    // The backup stays as it is, and may be one of an older program.
    const DataPlaces copy{scratch};
    MIST_TRY_VOID(copy_sqlite(DataPlaces{source}.database(), copy.database()));
    MIST_TRY(const std::set<crypto::Digest> digests, check_sqlite(copy.database()));
    if (as == RestoredAs::AnotherCatalog) MIST_TRY_VOID(forget_instance(copy.database()));
    return copy_to_postgres(copy.database(), digests, FileBlobs(files, DataPlaces{source}.blobs()), database,
                            context);
  });
}

}  // namespace mist::catalog
