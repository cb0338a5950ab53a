//! nginx' configuration: https://nginx.org/en/docs/

use std::fmt::Write as _;

use mistletoe::{Value, json};

use crate::objects::{CONFIG, SITE, TLS};
use crate::{Inputs, Proxy};

pub const HTTP_PORT: u16 = 8080;
pub const HTTPS_PORT: u16 = 8443;
pub const STATUS_PORT: u16 = 8081;

const HTTP_SNIPPET: &str = "http.conf";
const SERVER_SNIPPET: &str = "server.conf";

/// The files of the ConfigMap.
pub fn files(inputs: &Inputs) -> Value {
    let mut files = json!({
        "nginx.conf": nginx_conf(inputs),
        "start.sh": include_str!("start.sh"),
        "stop.sh": include_str!("stop.sh"),
    });
    for (name, snippet) in snippets(inputs) {
        files[name] = format!("{}\n", snippet.trim_end()).into();
    }
    files
}

/// The snippets that there are, by the names of their files: nginx names file and line of what it doesn't understand.
fn snippets(inputs: &Inputs) -> impl Iterator<Item = (&'static str, &str)> {
    let snippets = [(HTTP_SNIPPET, inputs.snippets.http.as_str()), (SERVER_SNIPPET, inputs.snippets.server.as_str())];
    snippets.into_iter().filter(|(_, snippet)| !snippet.trim().is_empty())
}

fn include_of(inputs: &Inputs, name: &str) -> String {
    snippets(inputs).filter(|(known, _)| *known == name).map(|_| format!("\ninclude {CONFIG}/{name};\n")).collect()
}

/// The ports at which the start script also listens with IPv6, where there is one: name, port and further parameters.
pub fn listens(inputs: &Inputs) -> Vec<String> {
    let mut ports = vec![format!("http:{HTTP_PORT}"), format!("status:{STATUS_PORT}")];
    if inputs.tls.enabled {
        ports.push(format!("https:{HTTPS_PORT}:ssl"));
    }
    ports
}

fn nginx_conf(inputs: &Inputs) -> String {
    let Inputs { workers, max_connections, max_body_mib, .. } = inputs;
    let mut http = String::new();
    if !inputs.proxies.is_empty() {
        http += "
# The Pod's own name servers.
include /tmp/resolver.conf;
map $http_upgrade $connection_upgrade {
  default upgrade;
  \"\" \"\";
}
";
    }
    if !inputs.trusted_proxies.is_empty() {
        http.push('\n');
        for address in &inputs.trusted_proxies {
            let _ = writeln!(http, "set_real_ip_from {address};");
        }
        http += "real_ip_header X-Forwarded-For;\nreal_ip_recursive on;\n";
    }
    http += &include_of(inputs, HTTP_SNIPPET);
    let http = indented(&(http + &servers(inputs)), 1);
    format!(
        "worker_processes {workers};
pid /tmp/nginx.pid;
error_log stderr warn;

events {{
  worker_connections {max_connections};
}}

http {{
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  log_format main '$remote_addr - $remote_user [$time_iso8601] \"$request\" $status $body_bytes_sent $request_time '
                  '\"$http_referer\" \"$http_user_agent\" \"$http_x_forwarded_for\"';
  access_log /dev/stdout main;

  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;

  sendfile on;
  tcp_nopush on;
  server_tokens off;
  # A Service's port isn't the server's.
  absolute_redirect off;
  client_max_body_size {max_body_mib}m;
  gzip on;
  gzip_vary on;
  gzip_proxied any;
  gzip_types application/javascript application/json application/xml image/svg+xml text/css text/plain;
{http}}}
"
    )
}

fn servers(inputs: &Inputs) -> String {
    let tls = &inputs.tls;
    let mut text = String::new();
    let listens =
        |port: u16, name: &str, more: &str| format!("  listen {port}{more};\n  include /tmp/listen-{name}.conf;\n");
    let http = listens(HTTP_PORT, "http", "");
    if tls.enabled && tls.required {
        let _ = write!(text, "\nserver {{\n{http}  return 308 https://$host$request_uri;\n}}\n");
    }
    text += "\nserver {\n";
    if !(tls.enabled && tls.required) {
        text += &http;
    }
    if tls.enabled {
        text += &listens(HTTPS_PORT, "https", " ssl");
        let _ = write!(
            text,
            "  ssl_certificate {TLS}/tls.crt;
  ssl_certificate_key {TLS}/tls.key;
  ssl_protocols TLSv1.2 TLSv1.3;
  ssl_session_cache shared:tls:4m;
"
        );
    }
    for (name, value) in &inputs.headers {
        let _ = writeln!(text, "  add_header {name} \"{value}\" always;");
    }
    text += &indented(&include_of(inputs, SERVER_SNIPPET), 1);
    if inputs.proxies.iter().all(|proxy| proxy.path != "/") {
        text += &site(inputs);
    }
    for (number, proxy) in inputs.proxies.iter().enumerate() {
        text += &location(inputs, number, proxy);
    }
    text += "}\n";
    let _ = write!(
        text,
        "
# For probes, and for those that read figures.
server {{
{}  access_log off;
  location = /healthz {{
    return 204;
  }}
  location = /stub_status {{
    stub_status;
  }}
  location / {{
    return 404;
  }}
}}
",
        listens(STATUS_PORT, "status", "")
    );
    text
}

fn site(inputs: &Inputs) -> String {
    let site = &inputs.site;
    let root = if site.files.is_empty() && site.config_map.is_none() { site.root.as_str() } else { SITE };
    let other = if site.single_page { "/index.html" } else { "=404" };
    format!("\n  location / {{\n    root {root};\n    index index.html;\n    try_files $uri $uri/ {other};\n  }}\n")
}

fn location(inputs: &Inputs, number: usize, proxy: &Proxy) -> String {
    let Proxy { path, timeout_seconds, .. } = proxy;
    let to = upstream(inputs, &proxy.to);
    // A variable: the name is looked up for requests, and not once at the start.
    let mut text = format!("\n  location {path} {{\n    set $upstream_{number} {to};\n");
    if proxy.strip_path && path != "/" {
        let begin = path.trim_end_matches('/').replace('.', "\\.");
        // It ends what `set` belongs to, so it comes after.
        let _ = writeln!(text, "    rewrite ^{begin}(?:/(.*))?$ /$1 break;");
    }
    let host = if proxy.keep_host { "http_host" } else { "proxy_host" };
    let _ = write!(
        text,
        "    proxy_pass $upstream_{number};
    proxy_http_version 1.1;
    proxy_set_header Host ${host};
    proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $connection_upgrade;
    proxy_read_timeout {timeout_seconds}s;
    proxy_send_timeout {timeout_seconds}s;
"
    );
    if to.starts_with("https:") {
        text += "    proxy_ssl_server_name on;\n";
    }
    text + "  }\n"
}

/// The URL with the whole name of a Service: nginx looks names up as they are, without search domains.
fn upstream(inputs: &Inputs, url: &str) -> String {
    let Some((scheme, server)) = url.split_once("://") else { return url.to_owned() };
    let host = server.split(':').next().unwrap_or(server);
    if host.contains('.') || host.starts_with('[') {
        return url.to_owned();
    }
    let port = &server[host.len()..];
    format!("{scheme}://{host}.{}.svc.{}{port}", inputs.namespace, inputs.cluster_domain)
}

fn indented(text: &str, depth: usize) -> String {
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{}{line}\n", "  ".repeat(depth)) };
    text.lines().map(line).collect()
}
