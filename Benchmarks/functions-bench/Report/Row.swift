import Foundation

/// One row of the table: a measurement, its reference and its aim.
struct Row: Sendable {
    enum Aim: Sendable {
        case ratioAtMost(Double)
        case ratioAtLeast(Double)
        case atMost(Quantity)
        case atLeast(Quantity)
        case between(Quantity, Quantity)
    }

    var what: String
    var ours: Quantity
    var reference: Quantity?
    var aim: Aim?

    init(_ what: String, _ ours: Quantity, beside reference: Quantity? = nil, aim: Aim? = nil) {
        self.what = what
        self.ours = ours
        self.reference = reference
        self.aim = aim
    }

    /// Ours as a multiple of the reference.
    var ratio: Double? {
        guard let reference, reference.number > 0 else { return nil }
        return ours.number / reference.number
    }

    /// Nil if there is no aim, or no reference to compare with.
    var isMet: Bool? {
        switch aim {
        case nil: nil
        case .ratioAtMost(let bound): ratio.map { $0 <= bound }
        case .ratioAtLeast(let bound): ratio.map { $0 >= bound }
        case .atMost(let bound): ours.number <= bound.number
        case .atLeast(let bound): ours.number >= bound.number
        case .between(let low, let high): (low.number...high.number).contains(ours.number)
        }
    }

    func cells(isVoid: Bool) -> [String] {
        let aimText =
            switch aim {
            case nil: ""
            case .ratioAtMost(let bound): "≤ \(Self.text(bound)) ×"
            case .ratioAtLeast(let bound): "≥ \(Self.text(bound)) ×"
            case .atMost(let bound): "≤ \(bound.text)"
            case .atLeast(let bound): "≥ \(bound.text)"
            case .between(let low, let high): "\(low.text) to \(high.text)"
            }
        let verdict = isVoid ? "void" : isMet.map { $0 ? "met" : "missed" } ?? ""
        return [what, ours.text, reference?.text ?? "", ratio.map { Self.text($0) + " ×" } ?? "", aimText, verdict]
    }

    private static func text(_ ratio: Double) -> String {
        String(format: ratio >= 10 ? "%.0f" : ratio >= 0.1 ? "%.2f" : "%.3f", ratio)
    }
}
