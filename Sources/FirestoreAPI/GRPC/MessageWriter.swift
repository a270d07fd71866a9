import DocumentModel
import FirestoreJSON
import FirestoreMessages
import SwiftProtobuf

/// Values and documents between the model and protobuf.
struct MessageWriter {
    let database: DatabaseID

    func value(_ value: Value) -> FSValue {
        var message = FSValue()
        switch value {
        case .null: message.valueType = .nullValue(.nullValue)
        case .boolean(let value): message.valueType = .booleanValue(value)
        case .integer(let value): message.valueType = .integerValue(value)
        case .double(let value): message.valueType = .doubleValue(value)
        case .timestamp(let time): message.valueType = .timestampValue(Self.timestamp(time))
        case .string(let text): message.valueType = .stringValue(text)
        case .bytes(let bytes): message.valueType = .bytesValue(.init(bytes))
        case .reference(let name): message.valueType = .referenceValue(name.description)
        case .geoPoint(let point):
            var latLng = FSLatLng()
            latLng.latitude = point.latitude
            latLng.longitude = point.longitude
            message.valueType = .geoPointValue(latLng)
        case .array(let values):
            var array = FSArrayValue()
            array.values = values.map(self.value)
            message.valueType = .arrayValue(array)
        case .map(let fields):
            var map = FSMapValue()
            map.fields = fields.mapValues(self.value)
            message.valueType = .mapValue(map)
        }
        return message
    }

    func document(_ document: Document) -> FSDocument {
        var message = FSDocument()
        message.name = name(document.path)
        message.fields = document.fields.mapValues(value)
        message.createTime = Self.timestamp(document.createTime)
        message.updateTime = Self.timestamp(document.updateTime)
        return message
    }

    func name(_ path: DocumentPath) -> String { DocumentName(database: database, path: path).description }

    static func timestamp(_ time: Timestamp) -> Google_Protobuf_Timestamp {
        Google_Protobuf_Timestamp(seconds: time.seconds, nanos: time.nanoseconds)
    }

    func writeResult(_ result: WriteResult) -> FSWriteResult {
        var message = FSWriteResult()
        if let time = result.updateTime { message.updateTime = Self.timestamp(time) }
        message.transformResults = result.transformResults.map(value)
        return message
    }
}
