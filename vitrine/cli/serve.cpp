#include <chrono>
#include <cstdlib>
#include <thread>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/ops/runtime.h"
#include "vitrine/serve/server.h"

namespace vitrine::cli {
namespace {

struct ServeOptions {
  std::vector<std::string> models;
  serve::ServeConfig config{};
  std::string runs = "runs", sweeps = "sweeps", page;
  int64_t max_body = 16;  // megabytes
  int64_t queue = 0;      // 0: as many as a batch has
  int64_t threads = 0;
  bool quiet = false;
};

int run_serve(ServeOptions o, Streams streams) {
  set_up_runtime(o.threads);
  auto& config = o.config;
  config.runs = o.runs;
  config.sweeps = o.sweeps;
  config.page = o.page;
  config.transport.max_body = o.max_body << 20;
  auto& batch = config.batch;
  batch.queue = o.queue > 0 ? o.queue : batch.max_batch;
  config.transport.connections = batch.queue + batch.max_batch + batch.jobs + 64;
  if (const char* token = std::getenv("VITRINE_TOKEN"); token != nullptr && config.token.empty())
    config.token = token;
  say_precision(config.precision, streams.err);
  serve::Server server(config, o.models, o.quiet ? nullptr : &streams.out);
  catch_interrupts();
  server.start();
  const auto& host = config.transport.host;
  const bool is_v6 = host.find(':') != std::string::npos;
  streams.err << fmt::format("serve: http://{}{}{}:{}/ ({}); Ctrl-C stops it\n", is_v6 ? "[" : "",
                             host, is_v6 ? "]" : "", server.port(),
                             counted(std::ssize(o.models), "model"));
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  streams.err << "serve: answering the requests under way\n";
  server.stop();
  return 0;
}

}  // namespace

Command serve_command() {
  return {
      "serve", "answer requests over HTTP: classify, explain, look inside, generate",
      [](CLI::App& app) {
        const auto o = std::make_shared<ServeOptions>();
        auto& c = o->config;
        app.add_option("models", o->models,
                       "run folders (their best checkpoint), checkpoints or published weights; "
                       "NAME=PATH gives a name")
            ->type_name("PATH");
        app.add_option("--host", c.transport.host, "address to listen at; 0.0.0.0: every network")
            ->capture_default_str();
        app.add_option("--port", c.transport.port, "port; 0: any that is free")
            ->capture_default_str()
            ->check(between(0, 65535));
        app.add_option("--runs", o->runs, "folder whose runs are shown")
            ->type_name("FOLDER")
            ->capture_default_str();
        app.add_option("--sweeps", o->sweeps,
                       "folder whose sweeps are shown, beside those in the folder of runs")
            ->type_name("FOLDER")
            ->capture_default_str();
        app.add_option("--page", o->page, "folder with the files of a page to serve at /")
            ->type_name("FOLDER")
            ->check(CLI::Validator(CLI::ExistingDirectory).description(""));
        app.add_option("--token", c.token,
                       "bearer token that clients must send; default: VITRINE_TOKEN, else none");
        app.add_option("--cors", c.cors,
                       "origin whose pages may send requests, such as "
                       "https://example.org; default: none");
        app.add_option("--queue", o->queue,
                       "requests that may wait for a batch; default: as many as --max-batch")
            ->check(between(1, 4096));
        app.add_option("--max-batch", c.batch.max_batch, "images in one forward pass")
            ->capture_default_str()
            ->check(between(1, 1024));
        app.add_option("--max-delay", c.batch.max_delay,
                       "milliseconds that the first image of a batch waits for others")
            ->capture_default_str()
            ->check(between(0, 10000));
        app.add_option("--max-body", o->max_body, "megabytes of a request")
            ->capture_default_str()
            ->check(between(1, 1024));
        add_precision(app, c.precision);
        add_threads(app, o->threads);
        app.add_flag("--quiet", o->quiet, "no access log on stdout");
        return [o](Streams s) { return run_serve(*o, s); };
      }};
}

}  // namespace vitrine::cli
