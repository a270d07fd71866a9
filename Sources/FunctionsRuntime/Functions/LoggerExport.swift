// What an author needs to use a handler's logger, so that FunctionsRuntime is all that a bundle imports.
@_exported public import struct Logging.Logger
