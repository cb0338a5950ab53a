#include "package/module_section.h"

#include <cstddef>
#include <span>

#include "abi/abi.h"
#include "encoding/gzip.h"
#include "encoding/json.h"
#include "encoding/tar.h"
#include "encoding/yaml.h"
#include "wasm/binary.h"

namespace mist::package {

Result<std::string> with_metadata(std::string_view module, std::string_view metadata,
                                  std::string_view metadata_file) {
  encoding::YamlOptions options;
  options.strict = true;
  options.file = metadata_file;
  MIST_TRY(const encoding::Value document, encoding::parse_yaml(metadata, options));
  if (auto parsed = Metadata::parse_strictly(document, metadata_file); !parsed.ok())
    return std::move(parsed).error();
  return wasm::with_custom_section(std::as_bytes(std::span(module)), "the module", wasm::kPackageSection,
                                   encoding::to_json(document));
}

Result<std::optional<Metadata>> metadata_of_module(const wasm::ModuleBytes& module, const std::string& name) {
  MIST_TRY(const std::optional<encoding::Value> document, abi::read_metadata(module, name));
  if (!document) return std::optional<Metadata>();
  MIST_TRY(Metadata metadata, Metadata::parse(*document, name));
  return std::optional(std::move(metadata));
}

Result<std::string> with_lock(std::string_view module, std::string_view lock, std::string_view name) {
  return wasm::with_custom_section(std::as_bytes(std::span(module)), name, wasm::kLockSection, lock);
}

Result<std::string> module_of_files(const Files& files) {
  std::vector<encoding::TarFile> all;
  for (const auto& [path, bytes] : files) all.push_back({path, bytes});
  MIST_TRY(const std::string archive, encoding::gzip(encoding::write_tar(all)));
  return wasm::with_custom_section(std::as_bytes(std::span(wasm::kEmptyModule)), "the module",
                                   wasm::kFilesSection, archive);
}

Result<Files> files_of_module(std::string_view module, const std::string& name) {
  constexpr encoding::TarLimits kLimits;
  MIST_TRY(const std::optional<std::string_view> section,
           wasm::custom_section(std::as_bytes(std::span(module)), name, wasm::kFilesSection));
  if (!section)
    return error(ErrorKind::Invalid, "{} names its engine and has no files for it (the section {})", name,
                 wasm::kFilesSection);
  // Headers and padding are as large as small files.
  MIST_TRY(const std::string tar, encoding::gunzip(*section, kLimits.bytes + kLimits.files * 4096)
                                      .in(fmt::format("while unpacking {}", name)));
  MIST_TRY(std::vector<encoding::TarFile> all, encoding::read_tar(tar, name, kLimits));
  Files files;
  for (encoding::TarFile& each : all) files.insert_or_assign(std::move(each.path), std::move(each.bytes));
  return files;
}

}  // namespace mist::package
