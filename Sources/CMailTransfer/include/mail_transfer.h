#ifndef FUNCTIONS_MAIL_TRANSFER_H
#define FUNCTIONS_MAIL_TRANSFER_H

#include <stddef.h>

/* A message, and the server that takes it. All texts are UTF-8 and end with a zero. */
typedef struct {
    /* smtp://host:port or smtps://host:port */
    const char *url;
    /* Whether the connection must be encrypted before anything else is sent. */
    int requires_tls;
    /* Null without a user. */
    const char *user;
    const char *password;
    /* A file of trusted certificates in PEM; null for the system's. */
    const char *authorities;
    /* The sender and the receiver, as <name@example.com>. */
    const char *from;
    const char *to;
    /* The headers and the body, with lines that end with CR LF. */
    const unsigned char *message;
    size_t length;
    long connect_seconds;
    long whole_seconds;
} functions_mail;

typedef enum {
    functions_mail_accepted = 0,
    /* The server refuses this message, and would refuse it again. */
    functions_mail_refused = 1,
    /* The server hasn't accepted it. */
    functions_mail_failed = 2,
    /* The whole message was sent, and the server hasn't answered: it may have accepted it. */
    functions_mail_lost = 3,
    functions_mail_stopped = 4,
} functions_mail_status;

typedef struct {
    functions_mail_status status;
    /* The last reply of the server, such as 250; 0 if there was none. */
    long reply;
    /* Why, for people; holds nothing of the message. */
    char reason[320];
} functions_mail_result;

/* Prepares the library; must have returned before the first message is sent. */
void functions_mail_prepare(void);

/* Sends a message, and returns when that has ended: it blocks its thread. should_stop is asked about each second, and ends
   the transfer if it returns something else than 0, unless a part of the message has been sent already. */
void functions_mail_send(
    const functions_mail *mail, int (*should_stop)(void *), void *context, functions_mail_result *result);

#endif
