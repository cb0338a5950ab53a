#pragma once
// The data of a catalog: where it is, and the stores in it.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "catalog/account_store.h"
#include "catalog/backup.h"
#include "catalog/blobs.h"
#include "catalog/feedback_store.h"
#include "catalog/passkey_store.h"
#include "catalog/store.h"
#include "catalog/task_store.h"
#include "main/catalog_line.h"
#include "main/catalog_machine.h"
#include "postgres/url.h"

namespace mist {

struct DataPlace {
  catalog::DataPlaces directory;
  std::optional<postgres::Url> database;  ///< of a server; nothing: a file of `directory`

  /// For people, without a password.
  std::string shown() const;
};

/// By the flags and the environment, from which the database's URL is removed: it isn't for the programs that
/// we start. Errors: Usage, Invalid, of FileSystem::read.
Result<DataPlace> data_place(const CommandLine& line, const FileSystem& files);

/// As catalog::back_up and catalog::restore.
Status back_up(FileSystem& files, const DataPlace& place, const Path& target, const Context& context);
Status restore(FileSystem& files, const DataPlace& place, const Path& source, const Context& context,
               catalog::RestoredAs as);

struct CatalogData {
  std::unique_ptr<catalog::Store> store;
  std::unique_ptr<catalog::AccountStore> accounts;
  std::unique_ptr<catalog::FeedbackStore> feedback;
  std::unique_ptr<catalog::PasskeyStore> passkeys;
  std::unique_ptr<catalog::TaskStore> tasks;
  std::unique_ptr<catalog::Blobs> blobs;
};

/// The audit log's entry of something that was done on the command line.
catalog::AuditEntry by_command_line(std::string_view what, std::string subject);

/// Makes what isn't there yet. `machine` outlives it. Errors: of the database, of the file system.
Result<CatalogData> open_data(const DataPlace& place, Machine& machine);

}  // namespace mist
