// The package of the conformance table, in C++; its siblings are in the other languages.
#include <cmath>

#include "mistletoe/mistletoe.hpp"

using mistletoe::Error;
using mistletoe::Json;
using mistletoe::Output;
using mistletoe::Result;

struct Port {
  std::string name;
  int port = 0;
  std::string protocol = "TCP";  // the host fills it in
};

struct Backend {
  std::string host;
  int port = 5432;
};

template <>
constexpr auto mistletoe::fields<Port> = std::tuple{
    field("name", &Port::name).pattern("^[a-z]+$").required(),
    field("port", &Port::port).minimum(1).maximum(65535).required(),
    field("protocol", &Port::protocol).one_of({"TCP", "UDP"}),
};

template <>
constexpr auto mistletoe::fields<Backend> = std::tuple{
    field("host", &Backend::host).required(),
    field("port", &Backend::port).minimum(1),
};

struct Inputs {
  std::string name;
  int replicas = 2;
  std::string message = "hello";
  std::vector<Port> ports = {{"http", 80, "TCP"}};
  std::map<std::string, std::string> labels;
  std::string level = "low";
  std::string fail;
  bool call = false;
  std::optional<Backend> backend;
  Json values;
};

template <>
constexpr auto mistletoe::fields<Inputs> = std::tuple{
    field("name", &Inputs::name).doc("The name of the release").required(),
    field("replicas", &Inputs::replicas).minimum(0).maximum(100),
    field("message", &Inputs::message).maximum(40),
    field("ports", &Inputs::ports),
    field("labels", &Inputs::labels),
    field("level", &Inputs::level).one_of({"low", "high"}),
    field("fail", &Inputs::fail),
    field("call", &Inputs::call),
    field("backend", &Inputs::backend),
    field("values", &Inputs::values),
};

// An empty text: it doesn't fail.
std::string failure(const Inputs& in) {
  if (in.fail.empty()) return "";
  if (in.fail == "cause") return mistletoe::in("can't make the Service", Error{"no port"}).message;
  if (in.fail == "secret") return mistletoe::secret::password("not a name!").error().message;
  if (in.fail == "undeclared") return mistletoe::call("nobody", Json::object()).error().message;
  if (in.fail == "called") return mistletoe::call("called", {{"size", -1}}).error().message;
  return "it fails: " + in.fail;
}

Json deployment(const Inputs& in) {
  const Json labels{{"app", in.name}};
  Json own = Json::object();
  for (const auto& [key, value] : in.labels) own[key] = value;
  const Json container{
      {"name", "web"},
      {"image", "registry.example/web:1.2"},
      {"args", Json::array({"--port=80", "-v", "", "a: b", "yes", "0777", "1e3", "12:30:45"})},
      {"command", Json::array({"sh", "-c", "set -e\nexec web\n"})},
      {"resources", {{"requests", {{"cpu", "250m"}, {"memory", "64Mi"}}}, {"limits", Json::object()}}},
      {"env", Json::array()},
  };
  return {
      {"apiVersion", "apps/v1"},
      {"kind", "Deployment"},
      {"metadata", {{"name", in.name}, {"labels", own}, {"annotations", {{"level", in.level}}}}},
      {"spec",
       {
           {"replicas", in.replicas},
           {"selector", {{"matchLabels", labels}}},
           {"template",
            {{"metadata", {{"labels", labels}}}, {"spec", {{"containers", Json::array({container})}}}}},
       }},
  };
}

Json service(const Inputs& in) {
  Json ports = Json::array();
  for (const Port& port : in.ports) ports.push_back({{"name", port.name}, {"port", port.port}, {"protocol", port.protocol}});
  return {
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", {{"name", in.name}}},
      {"spec", {{"selector", {{"app", in.name}}}, {"ports", ports}}},
  };
}

Result<Json> secrets(const Inputs& in) {
  namespace secret = mistletoe::secret;
  MISTLETOE_TRY(auto password, secret::password("db"));
  MISTLETOE_TRY(auto pin, secret::password("pin", {.length = 8, .alphabet = "0123456789", .require = {"digit"}}));
  MISTLETOE_TRY(auto token, secret::hex("token", 40));
  MISTLETOE_TRY(auto salt, secret::base64("salt", 16));
  MISTLETOE_TRY(auto id, secret::uuid("id"));
  MISTLETOE_TRY(auto key, secret::ed25519("key"));
  return Json{
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"metadata", {{"name", in.name}}},
      {"stringData",
       {{"password", password}, {"pin", pin}, {"token", token}, {"salt", salt}, {"id", id}, {"key", key.private_key}}},
  };
}

Result<Output> generate(const Inputs& in) {
  mistletoe::log::info(in.name + " is rendered");
  if (in.fail == "nan") return Output().with_object("x.yaml", {{"spec", {{"replicas", std::nan("")}}}});
  if (in.fail == "yaml")
    return Output().with_file("x.yaml", mistletoe::to_yaml({{"spec", {{"replicas", std::nan("")}}}}));
  if (in.fail == "infinity") return Output().with_exports({{"size", -HUGE_VAL}});
  if (const std::string why = failure(in); !why.empty()) return Error{why};
  MISTLETOE_TRY(const auto secret, secrets(in));
  Json backend;
  if (in.backend) backend = Json{{"host", in.backend->host}, {"port", in.backend->port}};
  Output output;
  output.with_object("web/deployment.yaml", deployment(in))
      .with_object("web/service.yaml", service(in))
      .with_object("secret.yaml", secret)
      .with_object("values.yaml", {{"apiVersion", "example.com/v1"},
                                   {"kind", "Anything"},
                                   {"metadata", {{"name", in.name}}},
                                   {"spec", {{"values", in.values},
                                     {"message", in.message},
                                     {"backend", backend},
                                     {"numbers", Json::array({100000.0, 2.5, -0.00001, 1e-7, 1e20, 1e21})}}}})
      .after("Deployment/" + in.name, "Secret/" + in.name)
      .with_message("Merry Christmas, " + in.name + " ❄")
      .with_exports({{"host", in.name}, {"ports", in.ports.size()}});
  if (in.call) {
    MISTLETOE_TRY(const auto called, mistletoe::call("called", {{"size", in.replicas}}));
    output.with_files_from("called", called);
  }
  return output;
}

int main() { return mistletoe::run(&generate); }
