/// Makes a run that fails short enough to be read.
enum Shrinking {
    private static let limit: Duration = .seconds(20)

    static func failure(of steps: [Step], on kind: StoreUnderTest.Kind) async -> Disagreement? {
        do {
            try await ModelRun.run(steps, on: kind)
            return nil
        } catch {
            return error as? Disagreement ?? Disagreement(step: nil, description: "\(error)")
        }
    }

    /// Leaves out what the failure can do without: large pieces first, then single steps, while there is time.
    static func shorten(
        _ steps: [Step], after failure: Disagreement, on kind: StoreUnderTest.Kind
    ) async -> ([Step], Disagreement) {
        let end = ContinuousClock.now + limit
        var steps = failure.step.map { Array(steps.prefix($0 + 1)) } ?? steps
        var last = failure
        var piece = max(steps.count / 2, 1)
        while ContinuousClock.now < end {
            var start = 0
            var isShorter = false
            while start < steps.count, ContinuousClock.now < end {
                var fewer = steps
                fewer.removeSubrange(start..<min(start + piece, steps.count))
                if let failure = await Self.failure(of: fewer, on: kind) {
                    steps = failure.step.map { Array(fewer.prefix($0 + 1)) } ?? fewer
                    last = failure
                    isShorter = true
                } else {
                    start += piece
                }
            }
            if piece == 1, !isShorter { break }
            piece = max(piece / 2, 1)
        }
        for (index, step) in steps.enumerated() {
            guard case .commit(var writes, let slot) = step else { continue }
            for place in writes.indices.reversed() where ContinuousClock.now < end {
                var fewer = writes
                fewer.remove(at: place)
                var changed = steps
                changed[index] = .commit(fewer, slot: slot)
                guard let failure = await Self.failure(of: changed, on: kind) else { continue }
                (writes, steps, last) = (fewer, changed, failure)
            }
        }
        return (steps, last)
    }

    static func text(_ steps: [Step]) -> String {
        steps.enumerated().map { "\($0): \(plain("\($1)"))" }.joined(separator: "\n")
    }

    /// What is printed as it reads best.
    static func plain(_ text: String) -> String {
        let modules = /(DocumentModel|DocumentStore|StoreTortureTests)\./
        let types = /(Value|Write|Query|FieldTransform|Operation|Filter|Step|Seen|IndexDefinition|Kind)\./
        return text.replacing(modules, with: "").replacing(types, with: "").replacing(/y{99,}/, with: "y…")
    }
}
