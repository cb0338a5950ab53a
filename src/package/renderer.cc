#include "package/renderer.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "abi/abi.h"
#include "base/text.h"
#include "encoding/json.h"
#include "encoding/schema_place.h"
#include "package/called_objects.h"
#include "package/calls.h"
#include "package/chart_answers.h"
#include "package/input.h"
#include "package/looked_up.h"
#include "package/module_section.h"
#include "package/objects.h"
#include "package/plain_yaml.h"
#include "package/resemblance.h"
#include "package/start_images.h"
#include "package/subcharts.h"
#include "package/tree_metadata.h"
#include "package/unknown_values.h"
#include "wasm/binary.h"
#include "wasm/instance.h"
#include "wasm/runtime.h"
#include "wasm/snapshot.h"

namespace mist::package {
namespace {

// Of Kubes.
constexpr std::string_view kTemplateEngine = "jinja";
// Of the Python engine.
constexpr std::string_view kScriptOption = "script";

Metadata plain_metadata(const Source& source) {
  Metadata metadata;
  metadata.name = source.name;
  metadata.version = source.version;
  return metadata;
}

// A directory with what it says of itself and who renders it.
struct Tree {
  const Files& files;
  std::optional<Metadata> declared;
  const EngineKind* engine = nullptr;  // null: plain Kubernetes YAML
};

Result<Tree> look_at(const Source& source) {
  Tree tree{std::get<Files>(source.content), std::nullopt};
  MIST_TRY(tree.declared,
           declared_metadata(tree.files).in(fmt::format("while reading {}", source.reference)));
  MIST_TRY(tree.engine, choose_engine(tree.files, source.engine, tree.declared ? tree.declared->engine : ""));
  return tree;
}

// Of a directory that is read as plain YAML, unless it or its user says that it is that.
Error plain_failure(Error failure, const Source& source, const Tree& tree) {
  if (tree.declared || !source.engine.empty()) return failure;
  return with_resemblance(std::move(failure), source, tree.files);
}
Error plain_failure(Error failure, const Source& source) {
  const auto tree = look_at(source);
  return tree.ok() ? plain_failure(std::move(failure), source, *tree) : failure;
}

// Its templates come second.
bool runs_a_script(const Tree& tree) {
  return tree.engine != nullptr && tree.engine->name == kTemplateEngine && has_pre_install(tree.files);
}

// Of the files that a script left: what a render of them is cached under.
crypto::Digest files_digest(const Files& files) {
  crypto::Hasher hasher;
  for (const auto& [path, content] : files) hasher.field(path).field(content);
  return hasher.finish();
}

// `a.b` is b within a; null: it isn't there.
const Value* answer_at(const Value& values, std::string_view name) {
  const Value* found = &values;
  for (const std::string_view part : split(name, '.')) {
    if (found == nullptr || !found->is_object()) return nullptr;
    found = found->find(part);
  }
  return found;
}

// Secret answers aren't printed wherever they get to.
std::map<std::string, SecretString> secret_answers(const std::vector<Answer>& answers, const Value& values) {
  std::map<std::string, SecretString> secrets;
  for (const Answer& each : answers) {
    const Value* const value = each.secret ? answer_at(values, each.name) : nullptr;
    if (value == nullptr || value->is_null()) continue;
    secrets.emplace(fmt::format("the answer to {}", each.name),
                    SecretString(value->is_string() ? value->as_string() : encoding::to_json(*value)));
  }
  return secrets;
}

// Secrets that the script may have passed to the templates, which print none of them.
std::map<std::string, SecretString> hidden_of_script(const std::map<std::string, SecretString>& answers,
                                                     const std::map<std::string, SecretString>& drawn) {
  std::map<std::string, SecretString> forms;
  for (const auto& [name, value] : answers) add_forms(forms, name, value.reveal());
  forms = looked_up_in_texts(std::move(forms));
  for (const auto& [name, value] : drawn) forms.emplace(fmt::format("the script's {}", name), value);
  return forms;
}

// Templates can always name the revision, also from values that they take for templates.
// A program asks for it (spec.needs.release).
bool sees_the_revision(const EngineKind& engine) {
  return engine.name != kKustomizeEngine && engine.name != kPythonEngine;
}

Result<Metadata> metadata_from(const Value& document, const Source& source) {
  MIST_TRY(Metadata metadata, Metadata::parse(document, source.reference));
  if (metadata.version.empty()) metadata.version = source.version;
  return metadata;
}

// A module that was built from a directory: its engine, and what it says of itself.
struct Built {
  const EngineKind& engine;
  Metadata metadata;

  bool names_engine() const { return !metadata.engine_digest.empty(); }
};

// Of what its section says. Nothing: it is a package of its own.
Result<std::optional<Built>> built_from(const Source& source, const std::optional<Value>& document) {
  const EngineKind* const engine = document ? find_engine(document->string_at({"spec", "engine"})) : nullptr;
  if (engine == nullptr) return std::optional<Built>();
  MIST_TRY(Metadata metadata, metadata_from(*document, source));
  return std::optional(Built{*engine, std::move(metadata)});
}

// Nothing is compiled for a look.
Result<std::optional<Built>> built_from(const Source& source, const wasm::ModuleBytes& module) {
  MIST_TRY(const std::optional<Value> document, abi::read_metadata(module, source.reference));
  return built_from(source, document);
}

// The line that an engine's error is about.
void add_excerpt(Error& failure, const Files& files) {
  if (!failure.where || failure.where->line == 0) return;
  const auto file = files.find(failure.where->file);
  if (file == files.end()) return;
  const auto lines = split(file->second, '\n');
  if (failure.where->line > lines.size()) return;
  std::string_view line = lines[failure.where->line - 1];
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (is_valid_utf8(line)) failure.where->excerpt = line;
}

// An engine's functions have numbers, which tell nobody anything; the file that it was at does.
Error without_functions(Error failure, const std::string& file) {
  if (failure.kind != ErrorKind::Trap) return failure;
  if (const auto* const without = failure.detail<wasm::WithoutBacktrace>())
    failure.because = without->because;
  if (!file.empty()) failure.frames.push_back(fmt::format("while rendering {}", escape_controls(file)));
  return failure;
}

// Half of what a package was written for is worse than nothing.
Status refuse_unmet_needs(const Metadata& metadata, const Source& source) {
  MIST_TRY_VOID(refuse_unresolved(metadata, source));
  return {};
}

// Members of its metadata that aren't known here. The original format belongs to others, who may add to it as
// they like.
void report_ignored(const Metadata& metadata, std::string_view reference, EventSink& events) {
  if (metadata.ignored.empty()) return;
  const std::string words =
      fmt::format("the metadata of {} has {} that this mistctl does not know and ignores: {}", reference,
                  plural(metadata.ignored.size(), "member"), join(metadata.ignored, ", "));
  if (metadata.original)
    events.debug(words);
  else
    events.warn(words);
}

// A runtime that starts when it is first needed.
class LazyRuntime {
 public:
  LazyRuntime(wasm::RuntimeOptions options, EventSink& events)
      : options_(std::move(options)), events_(events) {}

  Result<wasm::Runtime*> start() {
    const std::scoped_lock lock(mutex_);
    if (!runtime_) {
      MIST_TRY(runtime_, wasm::Runtime::create(options_, events_));
    }
    return &*runtime_;
  }

 private:
  wasm::RuntimeOptions options_;
  EventSink& events_;
  std::mutex mutex_;
  std::optional<wasm::Runtime> runtime_;  // guarded by mutex_ until made; then any thread
};

// A request to an engine by us and not by a user: there are no values and no cluster.
RenderRequest own_request(std::string_view release_name) {
  RenderRequest request;
  request.release_name = release_name;
  request.quiet = true;
  request.user_values = Value::object();
  request.capabilities = []() -> Result<Capabilities> { return Capabilities{"", {}, true}; };
  return request;
}

// A guest that is ready to run, and what it will see.
struct Started {
  std::unique_ptr<abi::Guest> guest;
  std::shared_ptr<const wasm::FileTree> files = nullptr;    // at /package; null: there is no such directory
  std::shared_ptr<const wasm::StartImage> image = nullptr;  // null: it begins as the module does
};

// One render: what it is made of, and how its guest starts, which nobody does for a render that is known.
struct Job {
  const Source& source;
  const RenderRequest& request;
  const wasm::Limits& limits;
  const Context& context;
  Metadata metadata;
  std::string code;   // digest of the module or engine
  std::string files;  // digest of what is at /package; empty: nothing
  std::string input;  // the document
  std::function<Result<Started>()> start;
  // Whether the input is as its schema wants it, where the schema is in the code, so that an input that is
  // known for this code was found to be so; null: it is.
  std::function<Status(const Metadata&)> check = nullptr;
  std::string_view input_version = abi::kVersion1;  // of the document
  Host::Charts charts = nullptr;                    // who renders those that a kustomization names
  bool engine = false;                              // what runs is one of ours
  bool chart = false;                               // and it renders a chart
};

// The rest that an output depends on: the clock, whom secrets are for, and limits, since another run may not
// end within others.
std::string settings_of(const Job& job, const SecretScope& scope) {
  const wasm::Limits& limits = job.limits;
  std::string text =
      fmt::format("{} {} {} {} {} {}\n", job.request.clock.time_since_epoch().count(), limits.memory_bytes,
                  limits.guest_time.count(), limits.output_bytes, limits.table_elements, limits.requests);
  text += fmt::format("{}\n{}\n", scope.package, scope.install);
  for (const auto& [name, count] : scope.rotations) text += fmt::format("{}={}\n", name, count);
  return text;
}

wasm::RuntimeOptions for_packages(const RendererOptions& options) {
  wasm::RuntimeOptions runtime;
  runtime.cache_directory = options.code_cache;
  runtime.stack_bytes = options.stack_bytes;
  runtime.pulse = options.pulse;
  runtime.compiler = options.compiler.get();
  return runtime;
}

wasm::RuntimeOptions for_engines(const RendererOptions& options) {
  wasm::RuntimeOptions runtime;
  runtime.cache_directory = options.code_cache;
  runtime.stack_bytes = options.engine_stack_bytes;
  runtime.optimise = true;
  runtime.pulse = options.pulse;
  runtime.compiler = options.compiler.get();
  runtime.cache_for_all = options.cache_for_all;
  // A cache that is just being filled can't be read as well.
  if (!options.cache_for_all) runtime.shared_cache_directory = options.engines.code();
  return runtime;
}

}  // namespace

struct Renderer::Impl {
  Impl(RendererOptions given, EventSink& sink)
      : options(std::move(given)),
        events(sink),
        packages(for_packages(options), sink),
        engines(for_engines(options), sink) {
    if (!options.render_cache.empty() && options.random != nullptr)
      renders.emplace(options.render_cache, options.render_cache_bytes, *options.random);
  }

  RendererOptions options;
  EventSink& events;
  LazyRuntime packages;
  LazyRuntime engines;
  std::optional<RenderCache> renders;
  StartImages images{std::size_t{128} << 20};

  static Result<std::unique_ptr<abi::Guest>> open(LazyRuntime& runtime, const Source& source,
                                                  const wasm::ModuleBytes& module) {
    MIST_TRY(wasm::Runtime* const started, runtime.start());
    return abi::open(*started, module, source.reference);
  }

  Result<wasm::Module> load_engine(std::string_view name) {
    MIST_TRY(const crypto::Digest digest, options.engines.digest(name));
    MIST_TRY(wasm::Runtime* const runtime, engines.start());
    return runtime->load_known(digest, fmt::format("engine {}", name),
                               [&] { return options.engines.read(name); });
  }

  static Result<Metadata> metadata_of(const Source& source, const abi::Guest& guest,
                                      const abi::RunOptions& run) {
    MIST_TRY(const std::optional<Value> document,
             guest.info(run).in(fmt::format("while asking {} for its metadata", source.reference)));
    if (!document) return plain_metadata(source);
    return metadata_from(*document, source);
  }

  // The earlier output of the same render. Afterwards `host` has answered its questions again.
  std::optional<abi::Output> known_output(const RenderParts& parts, Host& host) {
    if (!renders) return std::nullopt;
    const auto ask = [&](const Value& request) { return host.answer(request.string_at("op"), request); };
    std::optional<CachedRender> cached = renders->find(parts, ask, [&] { return host.answers(); });
    if (!cached) return std::nullopt;
    host.show(cached->lines);
    return std::move(cached->output);
  }

  Result<abi::Output> new_output(const Job& job, const Started& started, const RenderParts& parts,
                                 const SecretScope& scope, Host& host) {
    // A called package has a seed of its own for what it draws without a name.
    SecretScope drawing = scope;
    drawing.seed = job.request.seed;
    abi::RunOptions run{{job.request.clock, unnamed_seed(drawing), started.files, host.stream()},
                        job.limits,
                        job.context,
                        &host,
                        job.source.reference,
                        started.image};
    CallTree* const tree = job.request.called ? job.request.called->tree.get() : nullptr;
    if (tree != nullptr) {
      run.limits.guest_time = std::min(run.limits.guest_time, tree->time_left());
      run.limits.memory_bytes = std::min(run.limits.memory_bytes, tree->memory_left());
    }
    auto generated = started.guest->generate(job.input, run);
    host.show_held();
    MIST_TRY(abi::Output output, std::move(generated));
    if (job.request.called) {
      Status fit = check_exports(job.metadata, output.exports);
      if (!fit.ok()) return without_secrets(std::move(fit).error(), host.secrets());
    }
    // Input and exports fit their schemas, so nobody checks them again.
    if (renders && host.repeatable()) {
      CachedRender render{output, host.lines()};
      render.output.log.clear();
      renders->store(parts, host.questions(), host.answers(), render);
    }
    return output;
  }

  // Charts may be called too, so what an engine may use is what the tree may use.
  std::shared_ptr<CallTree> new_call_tree() const {
    const wasm::Limits& own = options.limits;
    const wasm::Limits& engine = options.engine_limits;
    return std::make_shared<CallTree>(
        CallTree::Budget{.guest_time = std::max(own.guest_time, engine.guest_time),
                         .output_bytes = std::max(own.output_bytes, engine.output_bytes),
                         .memory_bytes = std::max(own.memory_bytes, engine.memory_bytes),
                         .stack_bytes = std::max(options.stack_bytes, options.engine_stack_bytes)});
  }

  // Gives a guest what it needs for one render, and makes a result of what it gave.
  Result<Rendered> generate(Job job) {
    const RenderRequest& request = job.request;
    const SecretScope scope = secret_scope(job.metadata, request);
    const std::string settings = settings_of(job, scope);
    RenderParts parts{request.seed, job.code, job.files, job.input, settings};
    NullEventSink nobody;
    EventSink& audience = request.quiet ? nobody : events;
    report_ignored(job.metadata, job.source.reference, audience);
    const std::shared_ptr<CallTree> tree = request.called ? request.called->tree : new_call_tree();
    tree->secrets()->hide(request.hidden);
    PackageCalls calls(job.metadata, job.source.dependencies, request, tree,
                       [&](const Source& source, const RenderRequest& wanted) {
                         return render_files(source, wanted, job.context);
                       });
    std::optional<Host> answering;
    const LookupAsker asker{job.source.reference, job.chart, job.metadata.needs_cluster_read};
    const auto new_host = [&] {
      answering.emplace(scope, audience, tree->secrets());
      if (request.engine_options.find(kScriptOption) != nullptr) answering->hold_lines();
      answering->answer_lookup(request.lookup, asker);
      answering->answer_charts(job.charts);
      answering->answer_calls([&](const Value& wanted, std::uint64_t memory_bytes) {
        return calls.answer(wanted, memory_bytes);
      });
    };
    new_host();
    std::optional<abi::Output> output = known_output(parts, *answering);
    std::optional<Started> started;
    if (!output) {
      if (job.check) MIST_TRY_VOID(job.check(job.metadata));
      MIST_TRY(started, job.start());
      // A new host: the questions of the cached renders aren't those of this guest.
      new_host();
      if (const std::string_view version = started->guest->input_version(); version != job.input_version) {
        MIST_TRY(job.input, package_input(version, job.metadata, request));
        parts.input = job.input;
        output = known_output(parts, *answering);
      }
    }
    if (!output) {
      auto generated = new_output(job, *started, parts, scope, *answering);
      if (const Error* const refused = answering->refused(); refused != nullptr) {
        // An engine says where; what a guest says of it may be anything.
        Error failure = job.engine && !generated.ok() ? std::move(generated).error() : *refused;
        failure.kind = refused->kind;
        failure.hint = refused->hint;
        generated = std::move(failure);
      }
      if (!generated.ok()) {
        Error failure = without_secrets(std::move(generated).error(), tree->secrets()->values);
        if (job.engine) failure = without_functions(std::move(failure), *answering->stream());
        return std::move(failure).with_frame(fmt::format("while rendering {}", job.source.reference));
      }
      output = *std::move(generated);
    }
    Host& host = *answering;
    if (!request.quiet) report_log(without_secrets(std::move(output->log), tree->secrets()->values));
    Rendered rendered;
    rendered.metadata = std::move(job.metadata);
    rendered.secrets = host.secrets();
    rendered.looked_up = tree->secrets()->looked_up;
    rendered.asked = host.take_exchanges();
    for (abi::OutputFile& file : output->files) {
      if (job.engine && !file.source.empty())
        rendered.origins.emplace(file.path, FileOrigin{.source = std::move(file.source),
                                                       .lines = std::move(file.lines),
                                                       .others = std::move(file.others)});
      if (!rendered.files.emplace(file.path, std::move(file.text)).second)
        return error(ErrorKind::Invalid, "{} gave the file {} twice", job.source.reference,
                     escape_controls(file.path));
    }
    rendered.exports = std::move(output->exports);
    rendered.message = std::move(output->message);
    if (!rendered.looked_up.empty())
      rendered.message = without_secrets(std::move(rendered.message), looked_up_in_texts(rendered.looked_up));
    rendered.drawn = output->drawn + host.drawn();
    rendered.print = std::move(output->print);
    rendered.missing = std::move(output->missing);
    rendered.package = std::move(output->package);
    rendered.unknown = std::move(output->unknown);
    if (!request.called && !tree->answers().empty()) {
      rendered.calls = tree;
      // A program knows only its own line that passed an answer on.
      FileOrigins called = origins_of_called(rendered.files, *tree);
      called.merge(rendered.origins);
      rendered.origins = std::move(called);
    }
    return rendered;
  }

  // The output of a kustomization's charts, with a seed, a clock and a namespace of their own.
  Result<std::vector<ChartExchange>> charts_of(const Source& source, const Tree& tree, std::uint8_t world,
                                               const Context& context) {
    RenderRequest request = own_request("build");
    request.release_namespace = fmt::format("namespace-{}", world);
    request.seed[0] = std::byte{world};
    request.clock = WallTime(std::chrono::hours(24 * 365 * (50 + world)));
    ChartAnswers charts = answers_for(source, request, context);
    std::vector<ChartExchange> exchanges;
    auto rendered = run_engine(source, tree, plain_metadata(source), request, context,
                               [&](const Value& wanted) -> Result<Value> {
                                 MIST_TRY(Value answer, charts.answer(wanted));
                                 exchanges.push_back({wanted, answer});
                                 return answer;
                               });
    // A package without charts reports its problems when its module renders it.
    if (!rendered.ok() && (!exchanges.empty() || rendered.error().kind != ErrorKind::Invalid))
      return std::move(rendered).error();
    return exchanges;
  }

  // A module has no engine for its charts: they are rendered when it is built.
  Result<Files> with_charts_rendered(const Source& source, const Tree& tree, const Context& context) {
    MIST_TRY(const std::vector<ChartExchange> one, charts_of(source, tree, 0, context));
    if (one.empty()) return tree.files;
    MIST_TRY(const std::vector<ChartExchange> other, charts_of(source, tree, 1, context));
    MIST_TRY_VOID(refuse_differences(one, other));
    return with_answers(tree.files, one);
  }

  // A module that contains `files` and its engine, which has parsed them.
  Result<std::string> with_engine(const Source& source, std::string_view name, const Files& complete,
                                  const Context& context) {
    MIST_TRY_VOID(options.engines.digest(name));
    MIST_TRY(const std::string engine, options.engines.read(name));
    MIST_TRY(wasm::FileTree files, wasm::FileTree::make(complete));
    wasm::SnapshotOptions snapshot;
    snapshot.files = std::make_shared<const wasm::FileTree>(std::move(files));
    snapshot.limits = options.engine_limits;
    // Compiled already, where the engine is.
    MIST_TRY(wasm::Runtime* const runtime, engines.start());
    auto prepared = wasm::prepare_module(*runtime, crypto::as_bytes(engine), fmt::format("engine {}", name),
                                         snapshot, context);
    if (!prepared.ok())
      return std::move(prepared).error().with_frame(fmt::format("while building {}", source.reference));
    return prepared;
  }

  Result<std::string> build(const Source& source, BuiltEngine engine, const Context& context) {
    if (!std::holds_alternative<Files>(source.content))
      return error(ErrorKind::Invalid, "{} is a module already", source.reference)
          .with_hint("give its metadata with -m, or publish it as it is");
    MIST_TRY(const Tree tree, look_at(source));
    if (tree.engine == nullptr)
      return error(ErrorKind::Invalid, "{} has nothing that an engine renders", source.reference)
          .with_hint(
              "Kubernetes YAML is a package as it is; a program is one when its compiler has made the "
              "module");
    MIST_TRY(Metadata metadata, metadata_of_tree(source, tree, true, context));
    // Its author is here to correct it.
    if (!metadata.ignored.empty())
      return error(ErrorKind::Invalid, "the metadata of {} has {} that mistctl does not know: {}",
                   source.reference, plural(metadata.ignored.size(), "member"), join(metadata.ignored, ", "))
          .with_hint(fmt::format("correct {}", kPackageFile));
    metadata.engine = tree.engine->name;
    metadata.needs_release = metadata.needs_release || sees_the_revision(*tree.engine);
    Files complete = tree.files;
    if (metadata.engine == kKustomizeEngine) {
      MIST_TRY(
          complete,
          with_charts_rendered(source, tree, context).in(fmt::format("while building {}", source.reference)));
    }
    if (engine == BuiltEngine::Contained && runs_a_script(tree))
      return error(ErrorKind::Invalid, "{} has {}, and a module has one engine: that of its templates",
                   source.reference, kPreInstallScript)
          .with_hint("--thin names the engines instead of containing them; or publish the directory");
    std::string bare;
    if (engine == BuiltEngine::Named) {
      MIST_TRY(const crypto::Digest digest, options.engines.digest(metadata.engine));
      metadata.engine_digest = digest.str();
      metadata.required_features.emplace_back(kNamedEngine);
      MIST_TRY(bare, module_of_files(complete));
    } else {
      MIST_TRY(bare, with_engine(source, metadata.engine, complete, context));
    }
    MIST_TRY(std::string module,
             with_metadata(bare, encoding::to_json(metadata.to_value()), source.reference));
    MIST_TRY(const std::optional<std::string> lock, lock_text(source));
    return lock ? with_lock(module, *lock, source.reference) : Result<std::string>(std::move(module));
  }

  Result<Rendered> run(const Source& source, const wasm::ModuleBytes& module, const RenderRequest& request,
                       const Context& context) {
    MIST_TRY(const std::optional<Value> document, abi::read_metadata(module, source.reference));
    MIST_TRY(std::optional<Built> built, built_from(source, document));
    if (built && built->names_engine()) return run_named(source, module, *std::move(built), request, context);
    if (built) return run_built(source, module, *std::move(built), request, context);
    return run_program(source, module, document, request, context);
  }

  // `document` is what its section says of it. With one, its code isn't even loaded for a render that is
  // known.
  Result<Rendered> run_program(const Source& source, const wasm::ModuleBytes& module,
                               const std::optional<Value>& document, const RenderRequest& request,
                               const Context& context) {
    std::unique_ptr<abi::Guest> guest;
    std::optional<Metadata> metadata;
    if (document) {
      MIST_TRY(metadata, metadata_from(*document, source));
    } else {
      MIST_TRY(guest, open(packages, source, module));
      MIST_TRY(metadata, metadata_of(source, *guest,
                                     {{request.clock, request.seed, nullptr}, options.limits, context}));
    }
    MIST_TRY_VOID(refuse_unmet_needs(*metadata, source));
    // Nothing but its code says that it is of the original ABI; the input of today's is never known for it.
    const std::string_view version = guest ? guest->input_version() : abi::kVersion1;
    MIST_TRY(std::string input, package_input(version, *metadata, request));
    Job job{source,
            request,
            options.limits,
            context,
            *std::move(metadata),
            source.digest,
            "",
            std::move(input),
            [&]() -> Result<Started> {
              if (!guest) {
                MIST_TRY(guest, open(packages, source, module));
              }
              return Started{std::move(guest)};
            }};
    job.check = [&](const Metadata& known) { return check_input(known, request); };
    job.input_version = version;
    return generate(std::move(job));
  }

  // Rendered by another engine it might be something else.
  Status check_engine(const Source& source, const Built& built) const {
    const Result<crypto::Digest> here = options.engines.digest(built.engine.name);
    if (here.ok() && here->str() == built.metadata.engine_digest) return {};
    return error(ErrorKind::Invalid, "{} needs the engine {} {}", source.reference, built.engine.name,
                 escape_controls(built.metadata.engine_digest))
        .with_because(here.ok() ? fmt::format("the engine that came along here is {} {}", built.engine.name,
                                              here->str())
                                : fmt::format("no engine {} came along here", built.engine.name))
        .with_hint("use the mistctl that built it, or build it again: without --thin it contains its engine");
  }

  // Its files are rendered by the engine that is here.
  Result<Rendered> run_named(const Source& source, const wasm::ModuleBytes& module, Built built,
                             const RenderRequest& request, const Context& context) {
    MIST_TRY_VOID(check_engine(source, built));
    MIST_TRY(const auto bytes, module.bytes());
    MIST_TRY(const Files files, files_of_module(*bytes, source.reference));
    const Tree tree{files, std::nullopt, &built.engine};
    if (runs_a_script(tree)) return run_kube(source, tree, built.metadata, request, context);
    return run_engine(source, tree, std::move(built.metadata), request, context, nullptr);
  }

  // Of a module that renders by itself: run_program and run_built.
  static Result<std::vector<EngineRun>> own_run_of(const Source& source, const std::optional<Value>& document,
                                                   const std::optional<Built>& built,
                                                   const RenderRequest& request) {
    if (!document)
      return error(ErrorKind::Invalid, "{} has no section {}", source.reference, wasm::kPackageSection)
          .with_hint("mistctl package build MODULE -m mistletoe.yaml writes it");
    MIST_TRY(const Metadata metadata, metadata_from(*document, source));
    MIST_TRY_VOID(refuse_unmet_needs(metadata, source));
    EngineRun run;
    if (built) {
      MIST_TRY_VOID(check_engine_input(built->engine, metadata, request));
      MIST_TRY(run.input, engine_input(built->engine, metadata, request));
    } else {
      MIST_TRY_VOID(check_input(metadata, request));
      MIST_TRY(run.input, package_input(abi::kVersion1, metadata, request));
    }
    return std::vector{std::move(run)};
  }

  Result<std::vector<EngineRun>> runs_of(const Source& source, const RenderRequest& request) const {
    const auto& module = std::get<wasm::ModuleBytes>(source.content);
    MIST_TRY(const std::optional<Value> document, abi::read_metadata(module, source.reference));
    MIST_TRY(std::optional<Built> built, built_from(source, document));
    if (!built || !built->names_engine()) return own_run_of(source, document, built, request);
    MIST_TRY_VOID(check_engine(source, *built));
    MIST_TRY_VOID(refuse_unmet_needs(built->metadata, source));
    MIST_TRY(const auto bytes, module.bytes());
    MIST_TRY(const Files files, files_of_module(*bytes, source.reference));
    if (built->engine.name == kHelmEngine)
      if (const auto names = missing_subcharts(files); !names.empty())
        return lacks_subcharts(source.reference, names);
    std::vector<EngineRun> runs;
    if (runs_a_script({files, std::nullopt, &built->engine})) {
      const EngineKind& python = *find_engine(kPythonEngine);
      const RenderRequest wanted = for_script(request);
      MIST_TRY_VOID(check_engine_input(python, built->metadata, wanted));
      MIST_TRY(std::string input, engine_input(python, built->metadata, wanted));
      runs.push_back({.engine = python.name, .input = std::move(input), .is_script = true});
    }
    Metadata metadata = std::move(built->metadata);
    metadata.needs_release = metadata.needs_release || sees_the_revision(built->engine);
    MIST_TRY_VOID(check_engine_input(built->engine, metadata, request));
    MIST_TRY(std::string input, engine_input(built->engine, metadata, request));
    runs.push_back({.engine = built->engine.name, .input = std::move(input)});
    return runs;
  }

  // It is an engine of its own.
  Result<Rendered> run_built(const Source& source, const wasm::ModuleBytes& module, Built built,
                             const RenderRequest& request, const Context& context) {
    MIST_TRY_VOID(refuse_unmet_needs(built.metadata, source));
    MIST_TRY(std::string input, engine_input(built.engine, built.metadata, request));
    Job job{source,
            request,
            options.engine_limits,
            context,
            std::move(built.metadata),
            source.digest,
            "",
            std::move(input),
            [&]() { return start_built(source, module, built.engine.name, request.often); }};
    job.check = [&](const Metadata& metadata) { return check_engine_input(built.engine, metadata, request); };
    job.engine = true;
    job.chart = built.engine.name == kHelmEngine;
    auto rendered = generate(std::move(job));
    if (rendered.ok()) rendered->engine = built.engine.name;
    return rendered;
  }

  // Metadata as the engine sees it, which finds more than is written down: in a packed chart all of it.
  Result<Metadata> metadata_seen_by_engine(const Source& source, const Tree& tree, const Context& context) {
    RenderRequest request = own_request("inspect");
    request.engine_options = Value::object({{"inspect", true}});
    Metadata metadata = plain_metadata(source);
    MIST_TRY(const Rendered seen, run_engine(source, tree, metadata, request, context));
    if (!seen.package.is_object()) return metadata;
    metadata.name = seen.package.string_at("name");
    metadata.version = seen.package.string_at("version");
    metadata.description = seen.package.string_at("description");
    metadata.home = seen.package.string_at("home");
    metadata.values_file = seen.package.string_at("values");
    if (const Value* const people = seen.package.find("maintainers");
        people != nullptr && people->is_array()) {
      for (const Value& each : people->as_array()) {
        if (each.is_string()) metadata.maintainers.push_back(each.as_string());
      }
    }
    if (const Value* const inputs = seen.package.find("inputs")) metadata.inputs = *inputs;
    return metadata;
  }

  // The metadata of a directory, including what only its engine can see if `inspect`.
  Result<Metadata> metadata_of_tree(const Source& source, const Tree& tree, bool inspect,
                                    const Context& context) {
    const bool packed = packed_chart(tree.files) != nullptr;
    Metadata seen;
    if (inspect || packed) {
      MIST_TRY(seen, metadata_seen_by_engine(source, tree, context));
      if (packed) return seen;
    }
    MIST_TRY(Metadata metadata, tree_metadata(tree.files, tree.engine, source.name, source.version)
                                    .in(fmt::format("while reading {}", source.reference)));
    if (!inspect) return metadata;
    if (metadata.inputs.is_null()) metadata.inputs = std::move(seen.inputs);
    for (const auto member : {&Metadata::description, &Metadata::home, &Metadata::version}) {
      if ((metadata.*member).empty()) metadata.*member = std::move(seen.*member);
    }
    if (metadata.name == source.name && !seen.name.empty()) metadata.name = std::move(seen.name);
    return metadata;
  }

  Result<Rendered> run_engine(const Source& source, const Tree& tree, const RenderRequest& request,
                              const Context& context) {
    // The schema of a program may be in its code.
    const bool inspect =
        tree.engine->name == kPythonEngine && !(tree.declared && !tree.declared->inputs.is_null());
    MIST_TRY(Metadata metadata, metadata_of_tree(source, tree, inspect, context));
    return run_engine(source, tree, std::move(metadata), request, context);
  }

  // Renders for a user.
  Result<Rendered> run_tree(const Source& source, const Tree& tree, const RenderRequest& request,
                            const Context& context) {
    if (!runs_a_script(tree)) return run_engine(source, tree, request, context);
    MIST_TRY(const Metadata metadata, metadata_of_tree(source, tree, false, context));
    return run_kube(source, tree, metadata, request, context);
  }

  ChartAnswers answers_for(const Source& source, const RenderRequest& request, const Context& context) {
    return {source, request, options.engine_limits.guest_time,
            [&](const Source& chart, const RenderRequest& wanted) {
              return render_chart(chart, wanted, context);
            }};
  }

  // The output of `helm template` for a chart among a kustomization's files.
  Result<Rendered> render_chart(const Source& chart, const RenderRequest& request, const Context& context) {
    MIST_TRY(const Tree tree, look_at(chart));
    return run_engine(chart, tree, plain_metadata(chart), request, context);
  }

  Result<Rendered> run_engine(const Source& source, const Tree& tree, Metadata metadata,
                              const RenderRequest& request, const Context& context) {
    ChartAnswers charts = answers_for(source, request, context);
    return run_engine(source, tree, std::move(metadata), request, context,
                      [&](const Value& wanted) { return charts.answer(wanted); });
  }

  // The input of a script on the host.
  static std::string host_input(const RenderRequest& request) {
    return encoding::to_json(Value::object(
        {{"values", request.user_values},
         {"release",
          Value::object({{"name", install_name(request)}, {"namespace", request.release_namespace}})}}));
  }

  // The request to run a Kube's script.
  static RenderRequest for_script(const RenderRequest& request) {
    RenderRequest wanted = request;
    wanted.engine_options =
        Value::object({{kScriptOption, kPreInstallScript}, {"interactive", request.interactive}});
    return wanted;
  }

  struct Ran {
    Rendered rendered;  // what it drew and was told
    ScriptResult result;
  };

  // Runs the script of a Kube in the Python engine. Invalid: it asks what nobody answered.
  Result<Ran> run_script(const Source& source, const Tree& tree, const Metadata& metadata,
                         const RenderRequest& request, const Context& context) {
    const Tree script{tree.files, std::nullopt, find_engine(kPythonEngine)};
    const RenderRequest wanted = for_script(request);
    // Unknown members of its metadata are reported once, with the templates.
    Metadata known = metadata;
    known.ignored.clear();
    // Its exports are its results.
    known.exports = Value();
    Ran ran;
    MIST_TRY(ran.rendered, run_engine(source, script, std::move(known), wanted, context, nullptr));
    MIST_TRY(ran.result, script_result(ran.rendered.files, ran.rendered.exports));
    if (ran.result.question) return unanswered(*std::move(ran.result.question), source.reference);
    return ran;
  }

  // A Kube: its script first, then its templates with what that wrote.
  Result<Rendered> run_kube(const Source& source, const Tree& tree, const Metadata& metadata,
                            const RenderRequest& request, const Context& context) {
    MIST_TRY(Ran both, run_script(source, tree, metadata, request, context));
    auto& [ran, result] = both;
    Source made = source;
    if (result.needs_host.empty()) {
      made.content = after_script(tree.files, result);
    } else {
      if (!request.run_on_host) return needs_host_python(result, source.reference);
      MIST_TRY(const Files manifests,
               request.run_on_host({source.reference, result.needs_host, tree.files, host_input(request)},
                                   context));
      made.content = with_manifests(tree.files, manifests);
    }
    const Files& files = std::get<Files>(made.content);
    made.digest = files_digest(files).str();
    const Tree rest{files, tree.declared, tree.engine};
    const std::map<std::string, SecretString> answers = secret_answers(result.answers, request.user_values);
    RenderRequest wanted = request;
    wanted.hidden = hidden_of_script(answers, ran.secrets);
    Result<Rendered> of_templates = run_engine(made, rest, metadata, wanted, context);
    // Its excerpt is of a file that the script may have written.
    if (!of_templates.ok()) return without_secrets(std::move(of_templates).error(), wanted.hidden);
    Rendered rendered = *std::move(of_templates);
    rendered.secrets.merge(ran.secrets);
    rendered.asked.insert(rendered.asked.begin(), ran.asked.begin(), ran.asked.end());
    rendered.drawn += ran.drawn;
    rendered.looked_up.insert(answers.begin(), answers.end());
    rendered.answers = std::move(result.answers);
    return rendered;
  }

  // `charts` renders those of a kustomization.
  Result<Rendered> run_engine(const Source& source, const Tree& tree, Metadata metadata,
                              const RenderRequest& request, const Context& context, Host::Charts charts) {
    MIST_TRY(const crypto::Digest code, options.engines.digest(tree.engine->name));
    MIST_TRY_VOID(refuse_unmet_needs(metadata, source));
    if (tree.engine->name == kHelmEngine)
      if (const auto names = missing_subcharts(tree.files); !names.empty())
        return lacks_subcharts(source.reference, names);
    metadata.needs_release = metadata.needs_release || sees_the_revision(*tree.engine);
    MIST_TRY_VOID(check_engine_input(*tree.engine, metadata, request));
    MIST_TRY(std::string input, engine_input(*tree.engine, metadata, request));
    Job job{source,
            request,
            options.engine_limits,
            context,
            std::move(metadata),
            code.str(),
            source.digest,
            std::move(input),
            [&] { return start(source, tree, request.often, context); }};
    job.engine = true;
    job.chart = tree.engine->name == kHelmEngine;
    if (tree.engine->name == kKustomizeEngine) job.charts = std::move(charts);
    auto rendered = generate(std::move(job));
    if (!rendered.ok()) {
      add_excerpt(rendered.error(), tree.files);
      return rendered;
    }
    rendered->engine = tree.engine->name;
    for (const auto& [path, text] : rendered->files) {
      if (const auto own = tree.files.find(path); own != tree.files.end() && own->second == text)
        rendered->origins.emplace(path, FileOrigin{.source = path});
    }
    return rendered;
  }

  // A module that contains the engine that is here runs that one's compiled code.
  Result<Started> start_built(const Source& source, const wasm::ModuleBytes& module, std::string_view engine,
                              bool often) {
    const Result<crypto::Digest> here = options.engines.digest(engine);
    if (!here.ok()) {
      MIST_TRY(std::unique_ptr<abi::Guest> guest, open(engines, source, module));
      return Started{std::move(guest)};
    }
    const wasm::BaseModule base{*here, fmt::format("engine {}", engine),
                                [&] { return options.engines.read(engine); }};
    const std::string key = fmt::format("{} {}", here->str(), module.digest().str());
    if (const auto known = often ? images.find(key) : std::nullopt; known && *known) {
      MIST_TRY(const wasm::Module loaded, load_engine(engine));
      MIST_TRY(std::unique_ptr<abi::Guest> guest, abi::open(loaded));
      return Started{.guest = std::move(guest), .image = *known};
    }
    MIST_TRY(wasm::Runtime* const runtime, engines.start());
    MIST_TRY(wasm::PreparedModule prepared, runtime->load_prepared(module, source.reference, base));
    if (often && prepared.start) images.keep(key, prepared.start);
    MIST_TRY(std::unique_ptr<abi::Guest> guest, abi::open(std::move(prepared.module)));
    return Started{.guest = std::move(guest), .image = std::move(prepared.start)};
  }

  Result<Started> start(const Source& source, const Tree& tree, bool often, const Context& context) {
    MIST_TRY(const wasm::Module module, load_engine(tree.engine->name));
    MIST_TRY(std::unique_ptr<abi::Guest> guest, abi::open(module));
    const std::string key = fmt::format("{} {}", module.digest().str(), source.digest);
    const bool is_kept = often && !source.digest.empty();
    const auto known = is_kept ? images.find(key) : std::nullopt;
    // It has read its files.
    if (known && *known) return Started{.guest = std::move(guest), .image = *known};
    MIST_TRY(wasm::FileTree made, wasm::FileTree::make(tree.files));
    Started started{std::move(guest), std::make_shared<const wasm::FileTree>(std::move(made))};
    if (is_kept && !known) started.image = new_image(module, key, started.files, context);
    return started;
  }

  // Null: it can't be made, and rendering says why.
  std::shared_ptr<const wasm::StartImage> new_image(const wasm::Module& module, const std::string& key,
                                                    const std::shared_ptr<const wasm::FileTree>& files,
                                                    const Context& context) {
    wasm::SnapshotOptions snapshot;
    snapshot.files = files;
    snapshot.limits = options.engine_limits;
    auto made = wasm::StartImage::make(module, snapshot, context);
    if (!made.ok()) {
      events.debug(
          fmt::format("the prepared state of {} can't be kept: {}", module.name(), made.error().to_line()));
      if (made.error().kind == ErrorKind::Invalid || made.error().kind == ErrorKind::Trap)
        images.keep(key, nullptr);
      return nullptr;
    }
    auto image = std::make_shared<const wasm::StartImage>(*std::move(made));
    images.keep(key, image);
    return image;
  }

  Result<Inspection> inspect_engine(const Source& source, const Tree& tree, Inspection inspection,
                                    const Context& context) {
    inspection.format = tree.engine->format;
    inspection.engine = tree.engine->name;
    MIST_TRY(const crypto::Digest digest, options.engines.digest(tree.engine->name));
    inspection.engine_digest = digest.str();
    inspection.engine_here = inspection.engine_digest;
    MIST_TRY(inspection.metadata, metadata_of_tree(source, tree, true, context));
    return inspection;
  }

  Result<Rendered> render_files(const Source& source, const RenderRequest& request, const Context& context) {
    if (const auto* module = std::get_if<wasm::ModuleBytes>(&source.content))
      return run(source, *module, request, context);
    MIST_TRY(Tree tree, look_at(source));
    if (tree.engine != nullptr) {
      MIST_TRY(Rendered rendered, run_tree(source, tree, request, context));
      if (rendered.missing.empty()) return rendered;
      return error(ErrorKind::Invalid, "{} needs what is elsewhere: {}", source.reference,
                   escape_controls(encoding::to_json(rendered.missing)))
          .with_hint("copy it into the package, and name it by its path");
    }
    auto files = kubernetes_files(source, tree.files, tree.declared.has_value());
    if (!files) return plain_failure(std::move(files).error(), source, tree);
    Status takes = refuse_values(source, tree.files, request.user_values);
    if (!takes) return plain_failure(std::move(takes).error(), source, tree);
    Rendered rendered;
    rendered.metadata = tree.declared ? *std::move(tree.declared) : plain_metadata(source);
    if (!request.quiet) report_ignored(rendered.metadata, source.reference, events);
    rendered.files = *std::move(files);
    if (request.called) MIST_TRY_VOID(check_exports(rendered.metadata, rendered.exports));
    return rendered;
  }

  // The guest's messages during its work help its author, not its user.
  void report_log(const std::string& log) {
    std::size_t shown = 0;
    for (const std::string_view line : split(log, '\n')) {
      if (line.empty() || ++shown > 200) continue;
      events.debug(fmt::format("package: {}", escape_controls(line)));
    }
  }
};

Renderer::Renderer(RendererOptions options, EventSink& events)
    : impl_(std::make_unique<Impl>(std::move(options), events)) {}
Renderer::~Renderer() = default;

namespace {

// Where to read what values it takes, of an error of values that don't fit.
void add_inputs_hint(Error& failure, const std::string& reference) {
  const auto* const faults = failure.detail<encoding::ValueFaults>();
  if (faults == nullptr) return;
  failure.hint =
      fmt::format("mistctl inspect package {} prints the inputs that it knows{}", shell_word(reference),
                  faults->of_chart ? "; --skip-schema-validation goes without its schema" : "");
}

}  // namespace

Result<Rendered> Renderer::render_files(const Source& source, const RenderRequest& request,
                                        const Context& context) {
  auto rendered = impl_->render_files(source, request, context);
  if (!rendered.ok()) add_inputs_hint(rendered.error(), source.reference);
  return rendered;
}

Result<Rendered> Renderer::render(const Source& source, const RenderRequest& request,
                                  const Context& context) {
  std::optional<Activity> activity;
  if (!request.quiet) activity.emplace(impl_->events, fmt::format("rendering {}", source.reference));
  MIST_TRY(Rendered rendered, render_files(source, request, context));
  if (!request.quiet) {
    for (const std::string& words : unknown_values(rendered, source, request.user_values))
      impl_->events.warn(words);
  }
  NullEventSink nobody;
  const bool written = rendered.engine.empty() && std::holds_alternative<Files>(source.content);
  auto objects = parse_objects(rendered.files, request.quiet ? nobody : impl_->events,
                               written ? Lines::Written : Lines::Rendered, rendered.origins);
  // An error shows the line that it is about.
  if (!objects.ok()) {
    Error failure = without_secrets(std::move(objects).error(), rendered.secrets);
    failure = without_secrets(std::move(failure), looked_up_in_texts(rendered.looked_up));
    if (written) failure = plain_failure(std::move(failure), source);
    return with_excerpt(std::move(failure), source, rendered.origins);
  }
  rendered.objects = *std::move(objects);
  if (written) {
    if (const apimachinery::RenderedObject* const strange = kustomize_object(rendered.objects))
      return plain_failure(error(ErrorKind::Invalid, "{} is read by Kustomize, and by no cluster",
                                 escape_controls(strange->object.key().display()))
                               .at(strange->place())
                               .with_hint("name the directory that it is the kustomization.yaml of"),
                           source);
  }
  if (rendered.calls) attribute_changed(rendered.objects, *rendered.calls);
  return rendered;
}

std::vector<CallEdge> calls_of(const Rendered& rendered) {
  return rendered.calls ? rendered.calls->edges() : std::vector<CallEdge>();
}

Error with_excerpt(Error failure, const Source& source, const FileOrigins& origins) {
  if (!failure.where || !failure.where->excerpt.empty()) return failure;
  const Source* const owner = called_source(source, failure.where->package);
  const auto* const files = owner == nullptr ? nullptr : std::get_if<Files>(&owner->content);
  if (files == nullptr) return failure;
  const bool template_line = std::ranges::any_of(origins, [&](const auto& each) {
    const FileOrigin& origin = each.second;
    const bool own = origin.source == failure.where->file && !origin.lines.empty();
    return origin.package == failure.where->package && (own || origin.others.contains(failure.where->file));
  });
  if (template_line) add_excerpt(failure, *files);
  return failure;
}

Result<ScriptResult> Renderer::run_pre_install(const Source& source, const RenderRequest& request,
                                               const Context& context) {
  MIST_TRY(const Tree tree, look_at(source));
  if (!runs_a_script(tree))
    return error(ErrorKind::Invalid, "{} has no {}", source.reference, kPreInstallScript);
  MIST_TRY(const Metadata metadata, impl_->metadata_of_tree(source, tree, false, context));
  MIST_TRY(Impl::Ran ran, impl_->run_script(source, tree, metadata, request, context));
  if (!ran.result.needs_host.empty()) return needs_host_python(ran.result, source.reference);
  return std::move(ran.result);
}

Result<Inspection> Renderer::inspect(const Source& source, const Context& context) {
  Inspection inspection;
  if (const auto* module = std::get_if<wasm::ModuleBytes>(&source.content)) {
    inspection.bytes = module->size();
    MIST_TRY(std::optional<Built> built, built_from(source, *module));
    if (built) {
      const bool thin = built->names_engine();
      inspection.metadata = std::move(built->metadata);
      inspection.format = fmt::format("{}, {}", built->engine.format, thin ? "thin" : "built");
      if (thin) {
        inspection.engine = built->engine.name;
        inspection.engine_digest = inspection.metadata.engine_digest;
        if (const auto here = impl_->options.engines.digest(inspection.engine); here.ok())
          inspection.engine_here = here->str();
      }
      return inspection;
    }
    MIST_TRY(const std::unique_ptr<abi::Guest> guest, Impl::open(impl_->packages, source, *module));
    MIST_TRY(inspection.metadata, Impl::metadata_of(source, *guest, {{}, impl_->options.limits, context}));
    inspection.format = guest->abi();
    return inspection;
  }
  MIST_TRY(Tree tree, look_at(source));
  for (const auto& [path, text] : tree.files) inspection.bytes += text.size();
  if (tree.engine != nullptr) return impl_->inspect_engine(source, tree, std::move(inspection), context);
  // A directory that only holds packages has files of Kubernetes YAML as well.
  if (!tree.declared) {
    RenderRequest request;
    request.user_values = Value::object();
    request.quiet = true;
    if (auto readable = render(source, request, context); !readable.ok()) return std::move(readable).error();
  }
  MIST_TRY(const Files manifests, kubernetes_files(source, tree.files, tree.declared.has_value()));
  inspection.bytes = 0;
  for (const auto& [path, text] : manifests) inspection.bytes += text.size();
  inspection.metadata = tree.declared ? *std::move(tree.declared) : plain_metadata(source);
  inspection.format = "Kubernetes YAML";
  return inspection;
}

Result<Value> Renderer::describe(const Source& source, const Context& context) {
  const auto* const module = std::get_if<wasm::ModuleBytes>(&source.content);
  MIST_CHECK(module != nullptr);
  MIST_TRY(const std::unique_ptr<abi::Guest> guest, Impl::open(impl_->packages, source, *module));
  const Value question = Value::object({{"apiVersion", abi::kVersion1}, {"kind", "MistDescribe"}});
  const auto silent = [&](std::string because) {
    return error(ErrorKind::Invalid, "{} doesn't say what its inputs are", source.reference)
        .with_because(std::move(because))
        .with_hint("write spec.inputs in mistletoe.yaml; an object without properties takes none");
  };
  auto answer = guest->generate(abi::input_text(question), {{}, impl_->options.limits, context});
  if (!answer.ok()) {
    if (answer.error().kind != ErrorKind::Invalid) return std::move(answer).error();
    return silent(answer.error().to_line());
  }
  if (answer->package.find("inputs") == nullptr) return silent("its answer has no inputs");
  return std::move(answer->package);
}

Result<std::vector<Dependency>> declared_dependencies(const Source& source) {
  std::optional<Metadata> metadata;
  if (const auto* module = std::get_if<wasm::ModuleBytes>(&source.content)) {
    MIST_TRY(const std::optional<Value> document, abi::read_metadata(*module, source.reference));
    if (document) {
      MIST_TRY(metadata, metadata_from(*document, source));
    }
  } else {
    MIST_TRY(metadata, declared_metadata(std::get<Files>(source.content))
                           .in(fmt::format("while reading {}", source.reference)));
  }
  return metadata ? std::move(metadata->dependencies) : std::vector<Dependency>();
}

Result<std::optional<std::string>> lock_text(const Source& source) {
  if (const auto* module = std::get_if<wasm::ModuleBytes>(&source.content)) {
    MIST_TRY(const auto bytes, module->bytes());
    MIST_TRY(const std::optional<std::string_view> section,
             wasm::custom_section(std::as_bytes(std::span(*bytes)), source.reference, wasm::kLockSection));
    return section ? std::optional(std::string(*section)) : std::nullopt;
  }
  const Files& files = std::get<Files>(source.content);
  const auto found = files.find(std::string(kLockFile));
  return found == files.end() ? std::nullopt : std::optional(found->second);
}

Result<const EngineKind*> engine_of(const Source& source) {
  if (const auto* module = std::get_if<wasm::ModuleBytes>(&source.content)) {
    MIST_TRY(const std::optional<Built> built, built_from(source, *module));
    return built ? &built->engine : nullptr;
  }
  MIST_TRY(const Tree tree, look_at(source));
  return tree.engine;
}

Result<Value> Renderer::missing(const Source& source, const Context& context) {
  MIST_TRY(const Tree tree, look_at(source));
  if (tree.engine == nullptr) return Value::array();
  Result<Rendered> rendered = impl_->run_engine(source, tree, own_request("missing"), context);
  if (!rendered && rendered.error().kind != ErrorKind::Invalid) return std::move(rendered).error();
  return rendered.ok() && rendered->missing.is_array() ? std::move(rendered->missing) : Value::array();
}

Result<std::string> Renderer::build(const Source& source, BuiltEngine engine, const Context& context) {
  return impl_->build(source, engine, context);
}

Result<std::vector<EngineRun>> Renderer::engine_runs(const Source& source,
                                                     const RenderRequest& request) const {
  MIST_CHECK(std::holds_alternative<wasm::ModuleBytes>(source.content));
  auto runs = impl_->runs_of(source, request);
  if (!runs.ok()) add_inputs_hint(runs.error(), source.reference);
  return runs;
}

Status Renderer::compile_engine(std::string_view name) {
  MIST_TRY_VOID(impl_->load_engine(name));
  return {};
}

}  // namespace mist::package
