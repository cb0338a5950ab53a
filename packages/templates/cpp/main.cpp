// A small web server: a Deployment and its Service.
#include "mistletoe/mistletoe.hpp"

using mistletoe::Json;

// What users may set, with the defaults; the host has checked it.
struct Inputs {
  std::string name;
  int replicas = 2;
  std::string image = "nginxinc/nginx-unprivileged:1.29-alpine";
  std::string service_type = "ClusterIP";
};

template <>
constexpr auto mistletoe::fields<Inputs> = std::tuple{
    field("name", &Inputs::name).doc("The name of the release and its objects").required(),
    field("replicas", &Inputs::replicas).doc("How many Pods serve").minimum(0).maximum(100),
    field("image", &Inputs::image).doc("Listens on 8080 and needs no root"),
    field("serviceType", &Inputs::service_type).doc("How it is reached").one_of({"ClusterIP", "NodePort", "LoadBalancer"}),
};

// They find the Pods: a Deployment's selector can't change, so these stay as they are for ever.
Json labels(const Inputs& in) {
  return {{"app.kubernetes.io/name", "my-package"}, {"app.kubernetes.io/instance", in.name}};
}

Json container(const Inputs& in) {
  return {
      {"name", "web"},
      {"image", in.image},
      {"ports", Json::array({Json{{"name", "http"}, {"containerPort", 8080}}})},
      {"readinessProbe", {{"httpGet", {{"path", "/"}, {"port", "http"}}}}},
      {"securityContext", {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", Json::array({"ALL"})}}}}},
      {"resources", {{"requests", {{"cpu", "10m"}, {"memory", "16Mi"}}}, {"limits", {{"memory", "64Mi"}}}}},
  };
}

Json deployment(const Inputs& in) {
  const Json pod{
      {"securityContext", {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
      {"containers", Json::array({container(in)})},
  };
  return {
      {"apiVersion", "apps/v1"},
      {"kind", "Deployment"},
      {"metadata", {{"name", in.name}, {"labels", labels(in)}}},
      {"spec",
       {
           {"replicas", in.replicas},
           {"selector", {{"matchLabels", labels(in)}}},
           {"template", {{"metadata", {{"labels", labels(in)}}}, {"spec", pod}}},
       }},
  };
}

Json service(const Inputs& in) {
  return {
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", {{"name", in.name}, {"labels", labels(in)}}},
      {"spec",
       {
           {"type", in.service_type},
           {"selector", labels(in)},
           {"ports", Json::array({Json{{"name", "http"}, {"port", 80}, {"targetPort", "http"}}})},
       }},
  };
}

mistletoe::Result<mistletoe::Output> generate(const Inputs& in) {
  mistletoe::Output output;
  output.with_object("deployment.yaml", deployment(in)).with_object("service.yaml", service(in));
  return output;
}

int main() { return mistletoe::run(&generate); }
