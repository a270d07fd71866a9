import Foundation
import NIOCore

/// Measures queries of 100 results in a small and in a large collection, which should take the same time.
struct QueryBenchmark: Benchmark {
    static let name = "query"
    private static let results = 100
    private static let small = 1000
    private static let large = 20_000

    var pace: Pace

    private enum Kind: String, CaseIterable {
        case range = "a range, ordered"
        case equality = "equality"
    }

    func run(in directory: URL) async throws -> Section {
        try await HostProcess.with(["ShopFunctions"], in: directory) { host in
            let documents = Documents(port: host.ports.firestore)
            for size in [Self.small, Self.large] {
                try await documents.store(
                    (0..<size).map { Documents.set("\(Self.collection(size))/d\($0)", Documents.product($0)) })
            }
            var section = Section(
                "Query of \(Self.results) results over REST, 1 client, in \(Self.large) documents",
                notes: ["reference: the same in \(Self.small) documents"])
            for kind in Kind.allCases {
                var (inLarge, inSmall) = (LoadReport(), LoadReport())
                for _ in 0..<pace.rounds {
                    inSmall.add(try await load(kind, in: Self.small, documents, host))
                    inLarge.add(try await load(kind, in: Self.large, documents, host))
                }
                section.check(inLarge, kind.rawValue)
                section.check(inSmall, kind.rawValue)
                section.add(
                    Row(
                        "\(kind.rawValue): p50", .milliseconds(inLarge.percentile(0.5)),
                        beside: .milliseconds(inSmall.percentile(0.5)), aim: .ratioAtMost(1.3)))
                section.add(
                    Row(
                        "\(kind.rawValue): CPU each", .microseconds(inLarge.cpuPerOperation),
                        beside: .microseconds(inSmall.cpuPerOperation), aim: .ratioAtMost(1.3)))
            }
            return section
        }
    }

    private static func collection(_ size: Int) -> String { "products\(size)" }

    private func load(
        _ kind: Kind, in size: Int, _ documents: Documents, _ host: HostProcess
    ) async throws -> LoadReport {
        let queries = (0..<size / Self.results).map { group in
            documents.verb("runQuery", Self.query(kind, in: size, group: group))
        }
        let marker = Array(#""document":"#.utf8)
        let caller = RepeatingCaller(queries) { answer in
            answer.status == 200 && Self.count(marker, in: answer.body) == Self.results
        }
        return try await Load.run([caller], to: host.ports.firestore, for: pace.length, of: host.child.tree)
    }

    private static func query(_ kind: Kind, in size: Int, group: Int) -> String {
        let (field, operation, value) =
            switch kind {
            case .range: ("number", "GREATER_THAN_OR_EQUAL", group * results)
            case .equality: ("group", "EQUAL", group)
            }
        return """
            {"structuredQuery":{"from":[{"collectionId":"\(collection(size))"}],"where":{"fieldFilter":\
            {"field":{"fieldPath":"\(field)"},"op":"\(operation)","value":{"integerValue":"\(value)"}}},\
            "limit":\(results)}}
            """
    }

    /// How often a text is in a body.
    static func count(_ marker: [UInt8], in body: ByteBuffer) -> Int {
        body.withUnsafeReadableBytes { bytes in
            var (count, index) = (0, 0)
            while index + marker.count <= bytes.count {
                if bytes[index] == marker[0], bytes[index..<index + marker.count].elementsEqual(marker) { count += 1 }
                index += 1
            }
            return count
        }
    }
}
