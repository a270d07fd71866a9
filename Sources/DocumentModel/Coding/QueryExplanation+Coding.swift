extension ByteWriter {
    package mutating func write(_ explanation: QueryExplanation) {
        write(explanation.indexes) {
            $0.write($1.scope)
            $0.write($1.properties)
        }
        write(explanation.steps) { $0.write($1) }
        write(optional: explanation.cost) {
            $0.write(count: $1.documentsReturned)
            $0.write(count: $1.indexEntriesRead)
            $0.write(count: $1.documentsRead)
            $0.write(signed: $1.microseconds)
        }
        write(optional: explanation.suggestedIndex) { $0.write($1) }
    }
}

extension ByteReader {
    package mutating func explanation() throws(DecodingFailure) -> QueryExplanation {
        QueryExplanation(
            indexes: try list { reader throws(DecodingFailure) in
                QueryExplanation.IndexUse(scope: try reader.string(), properties: try reader.string())
            },
            steps: try list { reader throws(DecodingFailure) in try reader.string() },
            cost: try optional { reader throws(DecodingFailure) in
                QueryExplanation.Cost(
                    documentsReturned: try reader.size(), indexEntriesRead: try reader.size(),
                    documentsRead: try reader.size(), microseconds: try reader.signed())
            },
            suggestedIndex: try optional { reader throws(DecodingFailure) in try reader.string() })
    }
}
