#include "base/short_digest.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/places.h"
#include "config/cache_limits.h"

namespace mist::cli {
namespace {

using encoding::Value;

// list

constexpr FlagGroup kListGroups[] = {kOutputFlags};
constexpr Example kListExamples[] = {{"mistctl engines list", "Which engines came with this mistctl?"}};

Value engine_value(const package::EngineKind& kind, const package::EngineStore& store) {
  const auto digest = store.digest(kind.name);
  std::error_code failed;
  const auto size = std::filesystem::file_size(store.file(kind.name), failed);
  return Value::object({{"name", kind.name},
                        {"renders", kind.format},
                        {"digest", digest.ok() ? Value(digest->str()) : Value()},
                        {"path", digest.ok() ? Value(store.file(kind.name).string()) : Value()},
                        {"bytes", failed ? Value() : Value(static_cast<std::int64_t>(size))}});
}

Result<ExitCode> run_list(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const config::Paths paths, paths_of(machine));
  const package::EngineStore store(paths.engines, machine.build.engines);
  Value::Array engines;
  for (const package::EngineKind& kind : package::engine_kinds())
    engines.push_back(engine_value(kind, store));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format, Value::object({{"engines", Value(std::move(engines))}}));
    return ExitCode::Ok;
  }
  Table table({"ENGINE", "RENDERS", "SIZE", "DIGEST"});
  for (const Value& engine : engines) {
    const Value* const bytes = engine.find("bytes");
    const bool here = engine.find("digest")->is_string() && bytes->is_int();
    table.add(
        {{std::string(engine.string_at("name"))},
         {std::string(engine.string_at("renders"))},
         {here ? fmt::format("{:.1f} MB", static_cast<double>(bytes->as_int()) / 1e6) : "not installed"},
         {short_digest(engine.string_at("digest"))}});
  }
  machine.out.write(table.render(machine.color_out));
  return ExitCode::Ok;
}

// compile

constexpr Argument kCompileArguments[] = {
    {.name = "ENGINE", .help = "Which ones; all if none is named", .arity = Arity::Any}};
constexpr Flag kCompileFlags[] = {
    {.name = "installed",
     .help = "Beside the engines, for every user of this machine, instead of in this user's cache"}};
constexpr FlagGroup kCompileGroups[] = {{"Flags", kCompileFlags}};
constexpr Example kCompileExamples[] = {
    {"mistctl engines compile", "Compile all of them now instead of at the first chart"},
    {"mistctl engines compile --installed", "As make install does it, once, as root"},
};

Result<ExitCode> run_compile(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const config::Paths paths, paths_of(machine));
  package::RendererOptions options;
  options.engines = package::EngineStore(paths.engines, machine.build.engines);
  options.pulse = machine.pulse;
  options.cache_for_all = invocation.enabled("installed");
  options.code_cache = options.cache_for_all ? options.engines.code() : paths.compiled_code();
  if (!options.cache_for_all) options.code_cache_bytes = config::CacheLimits().within(paths.cache_limit).code;
  std::vector<std::string> names = invocation.arguments("ENGINE");
  if (names.empty()) {
    for (const package::EngineDigest& each : machine.build.engines) names.emplace_back(each.name);
  }
  package::Renderer renderer(std::move(options), *machine.events);
  for (const std::string& name : names) {
    if (package::find_engine(name) == nullptr) {
      std::vector<std::string> known;
      for (const package::EngineDigest& each : machine.build.engines) known.emplace_back(each.name);
      return error(ErrorKind::Invalid, "there is no engine \"{}\"", escape_controls(name.substr(0, 100)))
          .with_hint(fmt::format("the engines are {}", join(known, ", ")));
    }
    MIST_TRY_VOID(machine.context.check());
    MIST_TRY_VOID(renderer.compile_engine(name));
  }
  machine.out.write(fmt::format("{} ready\n", plural(names.size(), "engine")));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kEnginesListCommand{.path = "engines list",
                                            .summary = "List the engines that came with this mistctl",
                                            .run = run_list,
                                            .flags = kListGroups,
                                            .examples = kListExamples,
                                            .cluster = ClusterUse::None};

constinit const Command kEnginesCompileCommand{.path = "engines compile",
                                               .summary = "Compile engines before they are needed",
                                               .run = run_compile,
                                               .arguments = kCompileArguments,
                                               .flags = kCompileGroups,
                                               .examples = kCompileExamples,
                                               .cluster = ClusterUse::None};

}  // namespace mist::cli
