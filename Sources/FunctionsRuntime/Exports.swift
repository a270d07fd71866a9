// What an author needs from other modules, so that a bundle imports only FunctionsRuntime. The model's Document and Query
// aren't exported: this module has its own.
@_exported public import struct DocumentModel.CloudEvent
@_exported public import struct DocumentModel.DatabaseID
@_exported public import struct DocumentModel.DocumentError
@_exported public import struct DocumentModel.EventAuth
@_exported public import struct DocumentModel.FieldPath
@_exported public import struct DocumentModel.GeoPoint
@_exported public import struct DocumentModel.PubSubMessage
@_exported public import struct DocumentModel.QueryExplanation
@_exported public import enum DocumentModel.StatusCode
@_exported public import struct DocumentModel.Timestamp
@_exported public import enum DocumentModel.Value
@_exported public import struct Logging.Logger
@_exported public import struct StrictJSON.JSONError
@_exported public import struct StrictJSON.JSONObject
@_exported public import enum StrictJSON.JSONValue
