#include "main/catalog_data.h"

#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "catalog/catalog_database.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_blobs.h"
#include "catalog/sql_feedback_store.h"
#include "catalog/sql_passkey_store.h"
#include "catalog/sql_store.h"
#include "catalog/sql_task_store.h"
#include "config/paths.h"

namespace mist {
namespace {

Result<Path> data_directory(const CommandLine& line) {
  if (line.has("--data")) return std::filesystem::absolute(line.text("--data")).lexically_normal();
  if (const auto data = environment("XDG_DATA_HOME"); data && !data->empty())
    return Path(*data) / "mistletoe-catalog";
  if (const auto home = environment("HOME"); home && !home->empty())
    return Path(*home) / ".local/share/mistletoe-catalog";
  return error(ErrorKind::Usage, "there is no home directory").with_hint("name a directory with --data");
}

constexpr const char* kDatabaseVariable = "MISTLETOE_CATALOG_DATABASE";
constexpr const char* kPasswordVariable = "PGPASSWORD";  // libpq's own

// Not for the programs that we start.
std::string taken_from_environment(const char* name) {
  std::string text = environment(name).value_or("");
  ::unsetenv(name);
  return text;
}

// nullopt: the database is a file of the data directory.
Result<std::optional<postgres::Url>> database_url(const CommandLine& line, const FileSystem& files) {
  std::string text = taken_from_environment(kDatabaseVariable);
  SecretString password(taken_from_environment(kPasswordVariable));
  if (line.has("--database") && line.has("--database-url-file"))
    return error(ErrorKind::Usage, "--database and --database-url-file name two databases");
  if (line.has("--database")) text = line.text("--database");
  if (line.has("--database-url-file")) {
    MIST_TRY(text, files.read(std::filesystem::absolute(line.text("--database-url-file"))));
    text = trim(text.substr(0, text.find('\n')));
    if (text.empty())
      return error(ErrorKind::Invalid, "the first line of {} is empty", line.text("--database-url-file"));
  }
  if (text.empty()) return std::nullopt;
  MIST_TRY(postgres::Url url, postgres::Url::parse(SecretString(std::move(text))));
  if (line.has("--database") && url.has_secret())
    return error(ErrorKind::Usage,
                 "--database has a password, which the list of processes shows to everybody")
        .with_hint(fmt::format("--database-url-file FILE, or the environment's {}", kDatabaseVariable));
  if (!password.reveal().empty() && !url.has_password()) url = url.with_password(password);
  return url;
}

}  // namespace

std::string DataPlace::shown() const { return database ? database->shown() : directory.root.string(); }

Result<DataPlace> data_place(const CommandLine& line, const FileSystem& files) {
  DataPlace place;
  MIST_TRY(place.directory.root, data_directory(line));
  MIST_TRY(place.database, database_url(line, files));
  return place;
}

Status back_up(FileSystem& files, const DataPlace& place, const Path& target, const Context& context) {
  if (place.database) return catalog::back_up(files, *place.database, target, context);
  return catalog::back_up(files, place.directory, target, context);
}

Status restore(FileSystem& files, const DataPlace& place, const Path& source, const Context& context,
               catalog::RestoredAs as) {
  if (!place.database) return catalog::restore(files, source, place.directory, context, as);
  MIST_TRY_VOID(config::make_private_directory(files, place.directory.root));
  return catalog::restore(files, source, *place.database, place.directory.root / "restoring", context, as);
}

catalog::AuditEntry by_command_line(std::string_view what, std::string subject) {
  return {.who = "command line", .what = std::string(what), .subject = std::move(subject)};
}

Result<CatalogData> open_data(const DataPlace& place, Machine& machine) {
  FileSystem& files = machine.files;
  const catalog::DataPlaces& places = place.directory;
  MIST_TRY_VOID(config::make_private_directory(files, places.root));
  MIST_TRY_VOID(config::make_private_directory(files, places.work()));
  MIST_TRY_VOID(config::make_private_directory(files, places.cache() / "git"));
  MIST_TRY(const auto connections, place.database ? catalog::open_postgres(*place.database)
                                                  : catalog::open_sqlite(places.database()));
  CatalogData data;
  if (place.database)
    data.blobs = std::make_unique<catalog::SqlBlobs>(connections);
  else
    data.blobs = std::make_unique<catalog::FileBlobs>(files, places.blobs());
  MIST_TRY(data.store, catalog::open_store(connections, machine.clock, machine.random));
  data.accounts = catalog::account_store_in(connections, machine.clock, machine.random, {}, &machine.log);
  data.feedback = catalog::feedback_store_in(connections, machine.clock);
  data.passkeys = catalog::passkey_store_in(connections, machine.clock, machine.random);
  data.tasks = catalog::task_store_in(connections);
  return data;
}

}  // namespace mist
