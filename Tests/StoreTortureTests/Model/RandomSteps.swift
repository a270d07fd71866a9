import DocumentModel
import DocumentStore
import TestSupport

/// Random steps; the same for the same seed.
struct RandomSteps {
    private var parts: RandomParts
    private static let slots = 3

    static func make(seed: UInt64, count: Int) -> [Step] {
        var steps = RandomSteps(parts: RandomParts(generator: SeededGenerator(seed: seed)))
        // Something to ask for from the start.
        let first = Step.commit((0..<20).map { _ in steps.write() }, slot: nil)
        return [first] + (0..<count).map { _ in steps.step() }
    }

    private mutating func step() -> Step {
        switch Int.random(in: 0..<100, using: &parts.generator) {
        case 0..<23: .commit(writes(), slot: parts.generator.once(in: 3) ? slot() : nil)
        case 23..<26: .writeEach(writes())
        case 26..<34: .get((0..<Int.random(in: 1...3, using: &parts.generator)).map { _ in parts.path() }, seen())
        case 34: .partition(parts.whole(), points: parts.generator.pick([1, 2, 5, 100]))
        case 35: .explain(parts.query())
        case 36..<60: .query(parts.query(), seen())
        case 60..<61: .feed(pageBytes: parts.generator.pick([1, 500, 100_000]))
        case 61..<66: listening()
        case 66..<72: .aggregate(parts.query(), parts.aggregation(), seen())
        case 72..<74: parts.generator.once(in: 2) ? .configure(parts.configuration()) : .indexesAreDone
        case 74..<84: .begin(slot: slot(), readOnly: parts.generator.once(in: 2) ? readOnly() : nil)
        case 84..<91: .retry(slot: slot())
        case 91..<93: .rollback(slot: slot())
        case 93..<98: .wait(seconds: parts.generator.pick([1, 1, 3, 30, 100, -5]))
        default: .reopen
        }
    }

    private mutating func slot() -> Int { .random(in: 0..<Self.slots, using: &parts.generator) }

    private mutating func seen() -> Step.Seen {
        switch Int.random(in: 0..<6, using: &parts.generator) {
        case 0, 1: .newest
        case 2: .at(moment())
        default: .inside(slot: slot())
        }
    }

    private mutating func listening() -> Step {
        switch Int.random(in: 0..<8, using: &parts.generator) {
        case 0, 1: .listen(slot: slot(), .query(parts.query()))
        case 2: .listen(slot: slot(), .documents([parts.path(), parts.path(), parts.path()]))
        case 3: .leave(slot: slot())
        default: .follow(slot: slot())
        }
    }

    private mutating func readOnly() -> Step.ReadOnly {
        parts.generator.once(in: 2) ? .atItsFirstRead : .at(moment())
    }

    private mutating func moment() -> Step.Moment {
        guard !parts.generator.once(in: 8) else { return .now(plus: parts.generator.pick([0, 0, -1, 1, 10_000_000])) }
        let back = parts.generator.pick([0, 1, 2, 5, 10, 40])
        return .commit(back: back, plus: parts.generator.pick([0, 0, 0, 1, -1]))
    }

    private mutating func writes() -> [PlannedWrite] {
        (0..<parts.generator.pick([0, 1, 1, 1, 2, 3, 6])).map { _ in write() }
    }

    private mutating func write() -> PlannedWrite {
        let path = parts.path()
        let operation: Write.Operation
        switch Int.random(in: 0..<10, using: &parts.generator) {
        case 0, 1: operation = .delete
        case 2: operation = .verify
        case 3...6: operation = .set(fields())
        default:
            let mask = Array(RandomParts.fields.shuffled(using: &parts.generator).prefix(2))
            operation = .update(parts.fields(), mask: parts.generator.once(in: 30) ? mask + mask : mask)
        }
        var transforms: [FieldTransform] = []
        switch operation {
        case .set, .update: transforms = (0..<parts.generator.pick([0, 0, 0, 1, 2])).map { _ in transform() }
        case .delete, .verify: break
        }
        let condition = parts.generator.pick(
            [.none, .none, .none, .none, .exists, .missing, .current, .stale] as [PlannedWrite.Guard])
        return PlannedWrite(
            write: Write(path: path, operation: operation, transforms: transforms), condition: condition)
    }

    /// Now and then such as no store takes.
    private mutating func fields() -> [String: Value] {
        var fields = parts.fields()
        guard parts.generator.once(in: 40) else { return fields }
        fields["a"] = parts.generator.pick([
            .array([.array([])]), .map(["": .null]), .map(["__x__": .null]),
            .geoPoint(GeoPoint(latitude: 91, longitude: 0)),
            (0..<21).reduce(Value.null) { inner, _ in .map(["d": inner]) },
        ])
        return fields
    }

    private mutating func transform() -> FieldTransform {
        let field = parts.generator.pick(RandomParts.fields)
        let numbers: [Value] = [.integer(1), .integer(-2), .integer(.max), .integer(.min), .double(0.5), .double(.nan)]
        let elements = (0..<2).map { _ in parts.scalar() }
        let operations: [FieldTransform.Operation] = [
            .serverTimestamp, .increment(parts.generator.pick(numbers)), .maximum(parts.generator.pick(numbers)),
            .minimum(parts.generator.pick(numbers)), .arrayUnion(elements), .arrayRemove(elements),
        ]
        return FieldTransform(field, parts.generator.pick(operations))
    }
}
