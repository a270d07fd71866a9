package import DocumentModel
package import StrictJSON

/// Results of writes in Firestore's JSON format.
extension JSONNode {
    /// - Parameter write: the write of this result. For a delete, a service may return a time, which isn't the
    ///   document's.
    package func writeResult(of write: Write) throws(JSONProblem) -> WriteResult {
        var result = WriteResult(updateTime: nil, transformResults: [])
        if write.operation != .delete { result.updateTime = try self["updateTime"]?.timestamp() }
        for element in try self["transformResults"]?.elements() ?? [] {
            result.transformResults.append(try element.value())
        }
        return result
    }
}

extension JSONWriter {
    package mutating func writeResult(_ result: WriteResult) {
        raw("{")
        if let time = result.updateTime {
            raw("\"updateTime\":")
            string(time.rfc3339)
        }
        if !result.transformResults.isEmpty {
            if result.updateTime != nil { raw(",") }
            raw("\"transformResults\":")
            array(result.transformResults) { $0.value($1) }
        }
        raw("}")
    }
}
