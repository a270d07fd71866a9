import FunctionsRuntime
import FunctionsWebhooks
import MailModels

/// The key with which the payment service signs its events.
let webhookKey = defineSecret("WEBHOOK_KEY")

/// Receives the events of a payment service such as Stripe.
@main
struct PaymentFunctions: FunctionBundle {
    var functions: [Function] {
        onRequest("paymentWebhook", .secrets(webhookKey)) { request in
            guard request.method == "POST" else { return HTTPResponse(status: 405, headers: ["Allow": "POST"]) }
            try request.verifySignature(.stripe, key: webhookKey.value)
            let event = try request.json(as: PaymentEvent.self)
            // Some methods of payment complete the checkout before the money arrives, which is a second event.
            guard ["checkout.session.completed", "checkout.session.async_payment_succeeded"].contains(event.type) else {
                return HTTPResponse(status: 204)
            }
            let session = try request.json(as: CompletedCheckout.self).data.object
            guard ["paid", "no_payment_required"].contains(session.payment_status),
                let orderID = session.client_reference_id
            else { return HTTPResponse(status: 204) }

            // The service repeats an event until it has an answer. Its document makes the second one a no-op.
            let firestore = request.firestore
            let isNew = try await firestore.runTransaction { transaction in
                let seen = firestore.collection("paymentEvents").document(event.id)
                guard try await !transaction.getDocument(seen).exists else { return false }
                // The payer may have chosen the reference: the order must exist, and cost what was paid.
                let order = firestore.collection("orders").document(orderID)
                let stored = try await transaction.getDocument(order)
                guard stored.total?.intValue == session.amount_total,
                    stored.currency?.stringValue == session.currency
                else { throw HttpsError(.failedPrecondition, "The order doesn't cost what was paid.") }
                try transaction.setData(["type": event.type, "time": FieldValue.serverTimestamp()], forDocument: seen)
                // Paid twice: the event stays, to return the money.
                guard stored.state == nil else { return false }
                try transaction.updateData(["state": "paid"], forDocument: order)
                if let address = session.customer_email {
                    let mail = Mail(
                        to: address, subject: "Thank you", text: "We have received your payment for order \(orderID).")
                    try transaction.setData(from: mail, forDocument: firestore.collection("mail").document(event.id))
                }
                return true
            }
            return try .json(["id": event.id, "new": isNew])
        }
    }
}

/// What all events have. The names are the service's.
private struct PaymentEvent: Decodable, Sendable {
    var id: String
    var type: String
}

private struct CompletedCheckout: Decodable, Sendable {
    struct Content: Decodable, Sendable { var object: Session }

    struct Session: Decodable, Sendable {
        var client_reference_id: String?
        var amount_total: Int?
        var currency: String?
        var payment_status: String
        var customer_email: String?
    }

    var data: Content
}
