// The C++ SDK's own tests, natively: g++ -std=c++20 -fno-exceptions -I.. sdk_test.cpp && ./a.out
#include <limits>

#include "mistletoe.hpp"

namespace {

using namespace mistletoe;

int failed = 0, passed = 0;

void equal(const std::string& actual, const std::string& expected, int line) {
  if (actual == expected) {
    ++passed;
    return;
  }
  ++failed;
  std::fprintf(stderr, "sdk_test.cpp:%d: is\n%s\nand should be\n%s\n", line, actual.c_str(), expected.c_str());
}
#define EQUAL(actual, expected) equal(actual, expected, __LINE__)

struct Port {
  std::string name;
  std::uint16_t number = 0;
};

struct Inputs {
  std::string name;
  int replicas = 2;
  std::vector<Port> ports;
  std::map<std::string, std::string> labels;
  std::optional<double> ratio;
  bool must = false;
};

}  // namespace

template <>
constexpr auto mistletoe::fields<Port> = std::tuple{
    field("name", &Port::name).one_of({"a", "b"}),
    field("number", &Port::number).required(),
};
template <>
constexpr auto mistletoe::fields<Inputs> = std::tuple{
    field("name", &Inputs::name).doc("The name").required(),
    field("replicas", &Inputs::replicas).minimum(0),
    field("ports", &Inputs::ports).maximum(3),
    field("labels", &Inputs::labels),
    field("ratio", &Inputs::ratio),
    field("must", &Inputs::must).required(),
};

namespace {

Result<Output> generate(const Inputs& in, const Context& context) {
  if (in.replicas == 13) return mistletoe::in("can't make the Service", Error{"no port"});
  MISTLETOE_TRY(const auto password, secret::password("db"));
  Output output;
  output.with_file("b", "\u2028").with_file("a", std::to_string(password.size())).with_file("b", "2");
  output.with_message(in.name + " in " + context.release_namespace).with_exports({{"port", in.ports.size()}});
  return output;
}

std::string reason(std::string_view data) {
  const auto output =
      render(&generate, std::string(R"({"kind":"MistInput","release":{"namespace":"prod"},"data":)") + std::string(data) + "}");
  return output ? "none" : output.error().message;
}

void reads_json() {
  for (const std::string text : {R"({"a":[1,-2.50,1e+300,"x",null,true,false,{}],"b":{"c":[]}})", R"("ä❄🎄\"\\\n\u0001\u2028")", "0"})
    EQUAL(Json::parse(text)->dump(), text);
  EQUAL(Json::parse(R"("\ud83c\udf84\u00e4\/")")->dump(), "\"🎄ä/\"");
  for (const char* const text : {"", "{", "[1", "[1,]", "{\"a\" 1}", "\"", "\"\\x\"", "1 2", "nul", "{a:1}"}) {
    if (Json::parse(text)) equal(text, "no JSON", __LINE__);
  }
  if (Json::parse(std::string(100'000, '['))) equal("deep", "refused", __LINE__);
}

void writes_yaml() {
  EQUAL(to_yaml({{"spec", Json::array({Json::array({1, nullptr}), Json{{"name", "yes"}, {"a", "x\n\n y\n"}, {"b", Json::object()}}})},
                 {"kind", "K"},
                 {"metadata", {{"name", "250m"}}}}),
        "kind: K\nmetadata:\n  name: 250m\nspec:\n- - 1\n  - null\n- name: \"yes\"\n  a: |\n    x\n\n     y\n  b: {}\n");
  for (const auto& [number, text] :
       {std::pair{100000.0, "100000\n"}, {1e20, "100000000000000000000\n"}, {1e21, "1e+21\n"}, {-1.5e300, "-1.5e+300\n"},
        {123456789012345680000.0, "123456789012345680000\n"}, {0.1, "0.1\n"}, {-0.00001, "-0.00001\n"}, {1e-7, "1e-7\n"},
        {1234.5, "1234.5\n"}, {0.0, "0\n"}, {-0.0, "0\n"}})
    EQUAL(to_yaml(number), text);
  EQUAL(Json(0.1f).dump() + Json(-9223372036854775807 - 1).dump(), "0.1-9223372036854775808");
  EQUAL(to_yaml("a\nb"), "|-\n  a\n  b\n");
  EQUAL(to_yaml(Json::array()), "[]\n");
  EQUAL(to_yaml(" a\nb"), "\" a\\nb\"\n");
}

Result<Output> not_a_number(const Inputs& in) {
  Output output;
  const Json spec{{"a", 1.5}, {"ports", Json::array({1, Json{{"port", std::numeric_limits<float>::quiet_NaN()}}})}};
  if (in.must) output.with_object("x.yaml", {{"kind", "K"}, {"spec", spec}}).with_object("y.yaml", {{"a", -HUGE_VAL}});
  output.with_exports({{"size", HUGE_VAL}});
  return output;
}

void refuses_numbers_that_are_not_finite() {
  const auto refused = [](std::string_view must) {
    return render(&not_a_number, R"({"kind":"MistInput","data":{"name":"a","must":)" + std::string(must) + "}}").error().message;
  };
  const std::string rest = ", which neither JSON nor YAML has";
  EQUAL(refused("true"), "can't write the file x.yaml: spec.ports[1].port is NaN" + rest);
  EQUAL(refused("false"), "can't write the exports: size is Infinity" + rest);
  EQUAL(detail::not_finite(-HUGE_VAL), "the value is -Infinity" + rest);
  EQUAL(detail::not_finite(Json::array({1e300, "NaN"})), "");
  EQUAL(call("db", {{"size", HUGE_VAL}}).error().message, "can't write the input of db: size is Infinity" + rest);
}

Result<Output> not_a_number_in_a_text(const Inputs& in) {
  const Json config{{"size", std::numeric_limits<float>::quiet_NaN()}};
  static_cast<void>(to_yaml(-HUGE_VAL).size() + to_yaml(config).size());
  if (in.must) return Error{"no port"};
  return Output().with_file("x.yaml", to_yaml(config));
}

Result<Output> not_a_number_in_json(const Inputs& in) {
  return Output().with_file("x.json", Json{{"spec", {{"must", in.must}, {"size", HUGE_VAL}}}}.dump());
}

void refuses_texts_with_such_numbers() {
  const std::string document = R"({"kind":"MistInput","data":{"name":"a","must":)";
  const std::string rest = ", which neither JSON nor YAML has";
  static_cast<void>(to_yaml(HUGE_VAL));
  EQUAL(render(&not_a_number_in_a_text, document + "false}}").error().message, "the value is -Infinity" + rest);
  EQUAL(render(&not_a_number_in_a_text, document + "true}}").error().message, "no port");
  EQUAL(render(&not_a_number_in_json, document + "true}}").error().message, "spec.size is Infinity" + rest);
  EQUAL(reason(R"({"name":"a","must":true})"), "none");
}

void describes_and_reads_inputs() {
  EQUAL(schema<Inputs>().dump(),
        R"({"additionalProperties":false,"properties":{"labels":{"additionalProperties":{"type":"string"},"default":{},"type":"object"},)"
        R"("must":{"type":"boolean"},"name":{"description":"The name","type":"string"},)"
        R"("ports":{"default":[],"items":{"additionalProperties":false,"properties":{"name":{"default":"","enum":["a","b"],"type":"string"},)"
        R"("number":{"minimum":0,"type":"integer"}},"required":["number"],"type":"object"},"maxItems":3,"type":"array"},)"
        R"("ratio":{"type":"number"},"replicas":{"default":2,"minimum":0,"type":"integer"}},"required":["must"],"type":"object"})");
  EQUAL(reason(R"({"name":"a","must":true,"ports":[{"number":1},{"number":"many"}]})"),
        "the input `ports[1].number` doesn't fit this package: it is a string, not an integer");
  EQUAL(reason(R"({"name":"a","must":true,"ports":[{"number":65536}]})"),
        "the input `ports[0].number` doesn't fit this package: it is a number, not an integer of that size");
  EQUAL(reason(R"({"name":"a"})"), "the inputs don't fit this package: there is no `must`");
  EQUAL(reason(R"({"name":"a","must":true,"replicas":13})"), "can't make the Service: no port");
}

void answers_with_a_result() {
  const auto output = render(&generate, R"({"kind":"MistInput","release":{"namespace":"prod"},"data":{"name":"shop","must":true}})");
  EQUAL(detail::result_document(output),
        R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok","message":"shop in prod","files":{"b":"2","a":"24"},"exports":{"port":0}}})");
  EQUAL(detail::result_document(Output().with_exports("on \xc2\x85\"")),
        R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok","files":{},"exports":"\"on \\u0085\\\"\""}})");
  EQUAL(detail::result_document(Error{"\u2028"}),
        R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Err","message":"\u2028"}})");
  EQUAL(call("db", Json::object()).error().message, "there is no host here that could answer that");
  EQUAL(lookup("v1", "ConfigMap", "shared", "settings")->dump(), "null");
  EQUAL(lookup_all("v1", "ConfigMap", "")->dump(), "[]");
  EQUAL(lookup("v1", "ConfigMap", "shared", "").error().message,
        "lookup of a ConfigMap needs a name; lookup_all gives all of them");
}

}  // namespace

int main() {
  reads_json();
  writes_yaml();
  refuses_numbers_that_are_not_finite();
  refuses_texts_with_such_numbers();
  describes_and_reads_inputs();
  answers_with_a_result();
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
