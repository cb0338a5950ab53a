// The engine: CPython as a WASI reactor. mistletoe_prepare starts the interpreter and imports what packages use, so that the
// host can keep the memory; mistletoe_generate runs a package. All else is in Python: lib/_engine.py.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "frozen.h"  // kFrozen: the modules, made by freeze.py
#include "ramfs.h"

__attribute__((import_module("mistletoe_v1"), import_name("request"))) int host_request(const char *text, int size);
__attribute__((import_module("mistletoe_v1"), import_name("response"))) void host_response(char *answer);

static PyObject *request(PyObject *self, PyObject *text) {
  (void)self;
  char *bytes;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(text, &bytes, &size) < 0) return NULL;
  const int length = host_request(bytes, (int)size);
  PyObject *answer = PyBytes_FromStringAndSize(NULL, length);
  if (answer) host_response(PyBytes_AS_STRING(answer));
  return answer;
}

static PyMethodDef kMethods[] = {
    {"request", request, METH_O, "Makes a request of the host, JSON as bytes, and gives its answer."}, {0}};
static struct PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "_mistletoe", "The host.", 0, kMethods, 0, 0, 0, 0};
static PyObject *make_module(void) { return PyModuleDef_Init(&kModule); }

static _Noreturn void give_up(const char *words) {
  fprintf(stderr, "python: %s\n", words);
  _exit(3);
}

static void check(PyStatus status) {
  if (PyStatus_Exception(status)) give_up(status.err_msg ? status.err_msg : "the interpreter doesn't start");
}

static void start_interpreter(void) {
  PyImport_FrozenModules = kFrozen;
  PyImport_AppendInittab("_mistletoe", make_module);
  PyPreConfig before;
  PyPreConfig_InitIsolatedConfig(&before);
  before.utf8_mode = 1;
  check(Py_PreInitialize(&before));
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  // Sets have the same order in every run.
  config.use_hash_seed = 1;
  config.hash_seed = 0;
  config.site_import = 0;
  config.install_signal_handlers = 0;
  config.write_bytecode = 0;
  config.use_frozen_modules = 1;
  config.module_search_paths_set = 1;
  config.pathconfig_warnings = 0;
  PyConfig_SetString(&config, &config.program_name, L"python3");
  PyConfig_SetString(&config, &config.executable, L"");
  PyConfig_SetString(&config, &config.home, L"/");
  check(Py_InitializeFromConfig(&config));
  PyConfig_Clear(&config);
}

static PyObject *engine;  // null: not started

// Calls a function of _engine.py; what goes wrong there is a fault of the engine, with Python's words.
static void call(const char *function) {
  PyObject *result = engine ? PyObject_CallMethod(engine, function, NULL) : NULL;
  if (!result) {
    PyErr_Print();
    _exit(3);
  }
  Py_DECREF(result);
}

__attribute__((export_name("mistletoe_prepare"))) void mistletoe_prepare(void) {
  if (!ramfs_load()) give_up("the package's files can't be read, or don't fit into memory");
  if (engine) return;
  start_interpreter();
  engine = PyImport_ImportModule("_engine");
  call("prepare");
}

__attribute__((export_name("mistletoe_generate"))) void mistletoe_generate(void) {
  mistletoe_prepare();
  call("generate");
}
