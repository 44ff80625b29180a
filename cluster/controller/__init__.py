"""The controller: broker registrations, leader elections and ISR changes."""
